import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { eventually } from './eventually.js';

/** A call as the receiver gets it, before the answer. */
export interface CallbackCall {
  /** The `webhook-id`. */
  id: string;
  headers: IncomingHttpHeaders;
  body: string;
  /** Whether the caller was still connected when the answer was ready. */
  isAnswered: boolean;
  /** The status of the answer; undefined before it. */
  status?: number;
}

/** A sender's receiver of callbacks: an HTTP server that answers with `status` and `headers` when `answers` allows it. */
export class CallbackReceiver {
  /** All calls, in the order in which they came. */
  readonly calls: CallbackCall[] = [];
  /** How many callers wait for their answer. */
  waiting = 0;
  status = 200;
  headers: Record<string, string> = {};
  /** A promise that the answer to a call waits for; undefined: it is answered at once. */
  answers: (call: CallbackCall) => Promise<void> | undefined = () => undefined;

  private constructor(
    private readonly server: Server,
    readonly url: string,
  ) {}

  static async start(): Promise<CallbackReceiver> {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const receiver = new CallbackReceiver(server, `http://127.0.0.1:${port}/outcomes?plant=1`);
    server.on('request', (request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        const { headers } = request;
        const id = String(headers['webhook-id']);
        const body = Buffer.concat(chunks).toString();
        const call: CallbackCall = { id, headers, body, isAnswered: false };
        receiver.calls.push(call);
        receiver.waiting += 1;
        response.on('close', () => (receiver.waiting -= 1));
        void Promise.resolve(receiver.answers(call)).then(() => {
          call.isAnswered = !response.closed;
          call.status = receiver.status;
          response.writeHead(receiver.status, receiver.headers).end();
        });
      });
    });
    return receiver;
  }

  /** Calls about the message with that id. */
  callsAbout(messageId: string): CallbackCall[] {
    return this.calls.filter(({ body }) => body.includes(`"${messageId}"`));
  }

  /** Waits for the call number `times` about the message with that id. */
  untilCalled(messageId: string, times = 1): Promise<CallbackCall> {
    return eventually(
      `${times} calls about ${messageId}`,
      () => this.callsAbout(messageId)[times - 1],
    );
  }

  async close(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }
}

/** Whether the call is signed with that key, as Standard Webhooks specifies. */
export function isSigned({ id, headers, body }: CallbackCall, key: Buffer | string): boolean {
  const signed = `${id}.${String(headers['webhook-timestamp'])}.${body}`;
  const signature = createHmac('sha256', key).update(signed).digest('base64');
  return headers['webhook-signature'] === `v1,${signature}`;
}
