import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';

export interface ReceivedRequest {
  method: string | undefined;
  url: string | undefined;
  headers: IncomingMessage['headers'];
  body: string;
}

export type StubAnswer = (request: ReceivedRequest, response: ServerResponse) => void;

/** A real HTTP server on a free port that answers as the test defines and keeps its requests. */
export class StubService {
  readonly requests: ReceivedRequest[] = [];
  connections = 0;
  private answer: StubAnswer = respond(200, '[]');

  private constructor(
    private readonly server: Server,
    readonly baseUrl: string,
  ) {
    server.on('connection', () => (this.connections += 1));
    server.on('request', (request: IncomingMessage, response: ServerResponse) => {
      void this.receive(request, response);
    });
  }

  static async start(): Promise<StubService> {
    const server = createServer();
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    return new StubService(server, `http://127.0.0.1:${port}`);
  }

  get lastRequest(): ReceivedRequest {
    const last = this.requests.at(-1);
    if (last === undefined) throw new Error('no request has arrived');
    return last;
  }

  answers(answer: StubAnswer): void {
    this.answer = answer;
  }

  async stop(): Promise<void> {
    const closed = new Promise((resolve) => this.server.close(resolve));
    this.server.closeAllConnections();
    await closed;
  }

  private async receive(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method, url, headers } = request;
    const received = { method, url, headers, body: await text(request) };
    this.requests.push(received);
    this.answer(received, response);
  }
}

/** Answers every request with the same status and body; an object is sent as JSON. */
export function respond(
  status: number,
  body: unknown = '',
  headers: Record<string, string> = {},
): StubAnswer {
  return (_request, response) => {
    response.writeHead(status, headers);
    response.end(typeof body === 'string' ? body : JSON.stringify(body));
  };
}

/** Never answers. */
export const hang: StubAnswer = () => undefined;
