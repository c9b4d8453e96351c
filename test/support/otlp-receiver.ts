import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gunzipSync } from 'node:zlib';
import { eventually } from './eventually.js';
import { secretIn } from './secrets.js';

interface OtlpAttribute {
  key: string;
  value: { stringValue?: string; intValue?: number | string };
}

interface OtlpSpan {
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  traceState?: string;
  name: string;
  kind: number;
  attributes: OtlpAttribute[];
  links?: { traceId: string; spanId: string }[];
  events?: { name: string; attributes: OtlpAttribute[] }[];
  status: { code?: number };
}

interface OtlpRequest {
  resourceSpans: {
    resource: { attributes: OtlpAttribute[] };
    scopeSpans: { spans: OtlpSpan[] }[];
  }[];
}

/** A span as a collector gets it. */
export interface ReceivedSpan extends Omit<OtlpSpan, 'attributes' | 'events'> {
  attributes: Record<string, string | number>;
  events: Record<string, string | number>[];
  resource: Record<string, string | number>;
}

/** The behaviour of the receiver: it accepts spans, refuses them, or never answers. */
export type Conduct = 'takes' | 'refuses' | 'hangs';

/** A collector for OTLP over HTTP, with spans as JSON. */
export class OtlpReceiver {
  readonly spans: ReceivedSpan[] = [];
  readonly requests: IncomingMessage['headers'][] = [];
  conduct: Conduct = 'takes';
  private readonly server: Server;

  constructor() {
    this.server = createServer((request, response) => void this.answer(request, response));
  }

  async start(): Promise<void> {
    this.server.listen(0, '127.0.0.1');
    await once(this.server, 'listening');
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  /** Waits for the first span that matches, and returns it. */
  find(what: string, matches: (span: ReceivedSpan) => boolean): Promise<ReceivedSpan> {
    return eventually(what, () => this.spans.find(matches));
  }

  /** @throws Error when a span held a secret */
  async close(): Promise<void> {
    this.server.closeAllConnections();
    this.server.close();
    await once(this.server, 'close');
    const setting = secretIn(JSON.stringify(this.spans));
    if (setting !== undefined) throw new Error(`a span holds the secret of ${setting}`);
  }

  private async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    this.requests.push(request.headers);
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    if (this.conduct === 'hangs') return;
    if (this.conduct === 'refuses') {
      response.writeHead(400).end();
      return;
    }
    const body = Buffer.concat(chunks);
    const plain = request.headers['content-encoding'] === 'gzip' ? gunzipSync(body) : body;
    if (request.url === '/v1/traces' && request.headers['content-type'] === 'application/json') {
      this.take(JSON.parse(plain.toString()) as OtlpRequest);
    }
    response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
  }

  private take({ resourceSpans }: OtlpRequest): void {
    for (const { resource, scopeSpans } of resourceSpans) {
      for (const span of scopeSpans.flatMap(({ spans }) => spans)) {
        this.spans.push({
          ...span,
          attributes: byName(span.attributes),
          events: (span.events ?? []).map(({ attributes }) => byName(attributes)),
          resource: byName(resource.attributes),
        });
      }
    }
  }
}

function byName(attributes: readonly OtlpAttribute[]): Record<string, string | number> {
  return Object.fromEntries(
    attributes.map(({ key, value }) => [key, value.stringValue ?? Number(value.intValue)]),
  );
}
