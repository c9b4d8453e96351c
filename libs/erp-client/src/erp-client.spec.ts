import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';
import { type ErpAccess, loadBridgeSettings } from '#libs/config';
import type { EnrichmentRule } from '#libs/erp-formats';
import { type ErpAnswer, ErpClient } from './erp-client.js';

const SECRET = 'a-secret-of-the-erp';
const settings = loadBridgeSettings({
  KAFKA_BROKERS: 'localhost:1',
  MACHINE_CLOUD_BASE_URL: 'http://localhost:1',
  MACHINE_CLOUD_TOKEN: 'a-token',
});

describe('ErpClient', () => {
  const opened: (Server | ErpClient)[] = [];
  const never = new AbortController().signal;

  afterEach(async () => {
    for (const each of opened.splice(0).reverse()) {
      if (each instanceof ErpClient) await each.closeConnections();
      else {
        each.closeAllConnections();
        await new Promise((resolve) => each.close(resolve));
      }
    }
  });

  const serve = async (listener: RequestListener): Promise<string> => {
    const server = createServer(listener).listen(0, '127.0.0.1');
    opened.push(server);
    await once(server, 'listening');
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  };
  const clientOf = (
    origin: string,
    credentials: ErpAccess['credentials'] = { kind: 'fixed', token: SECRET },
    timeoutMs = 30_000,
  ): ErpClient => {
    const rule: EnrichmentRule = {
      ...{ name: 's4', when: [], orderId: 'id', keepLeadingZeros: true, values: {} },
      ...{ auth: { kind: 'none' }, proxy: false, goneAfterSeconds: 0, concurrency: 2 },
      ...{ url: origin, headers: { accept: 'application/json' } },
      ...{ timeoutMs, maxAnswerBytes: 10_000 },
    };
    const erpAccess = new Map([['s4', { credentials, ca: undefined }]]);
    const client = new ErpClient(rule, { ...settings, erpAccess });
    opened.push(client);
    return client;
  };
  const asking = async (
    listener: RequestListener,
    ...more: [ErpAccess['credentials']?, number?]
  ): Promise<ErpAnswer> => clientOf(await serve(listener), ...more).getDocument('/orders/1', never);
  const status = (code: number, headers: Record<string, string> = {}): RequestListener => {
    return (_, response) => response.writeHead(code, headers).end('{"order":"1"}');
  };

  it('sends its headers and credentials, and returns the answer unchanged', async () => {
    const answer = await asking(
      ({ method, url, headers }, response) => {
        const { accept, authorization, traceparent } = headers;
        response.setHeader('content-type', 'application/json');
        response.end(JSON.stringify({ method, url, accept, authorization, traceparent }));
      },
      { kind: 'basic', username: 'bridge', password: 'p:w' },
    );
    if (answer.kind !== 'document') throw new Error(answer.kind);
    expect(answer.contentType).toBe('application/json');
    expect(JSON.parse(answer.body.toString())).toEqual({
      ...{ method: 'GET', url: '/orders/1', accept: 'application/json' },
      authorization: `Basic ${Buffer.from('bridge:p:w').toString('base64')}`,
    });
  });

  it.each([
    [204, { kind: 'gone', status: 204 }],
    [404, { kind: 'gone', status: 404 }],
    [410, { kind: 'gone', status: 410 }],
    [400, { kind: 'refused', code: 'status', status: 400 }],
    [422, { kind: 'refused', code: 'status', status: 422 }],
    [401, { kind: 'unauthorised', status: 401 }],
    [403, { kind: 'unauthorised', status: 403 }],
    [408, { kind: 'retry', status: 408 }],
    [425, { kind: 'retry', status: 425 }],
    [429, { kind: 'retry', status: 429 }],
    [500, { kind: 'retry', status: 500 }],
    [503, { kind: 'retry', status: 503 }],
  ])('sorts %i', async (code, expected) => {
    expect(await asking(status(code))).toMatchObject(expected);
  });

  it.each([
    ['[]', 'gone'],
    ['{"value":[]}', 'gone'],
    ['{"d":{"results":[]}}', 'gone'],
    ['{"d":{"d":{"results":[]}}}', 'document'],
    ['{"value":[],"more":"1"}', 'gone'],
    ['{"operations":[]}', 'document'],
    ['[{}]', 'document'],
    [`${' '.repeat(4096)}[]`, 'document'],
  ])('sorts the answer 200 by whether it is an empty list: %s', async (text, kind) => {
    expect(await asking((_, response) => response.end(text))).toMatchObject({ kind });
  });

  it('returns the wait of Retry-After', async () => {
    const answer = await asking(status(503, { 'retry-after': '7' }));
    expect(answer).toMatchObject({ kind: 'retry', afterMs: 7000 });
  });

  it('follows no redirect, since credentials would travel with it', async () => {
    let asked = 0;
    const other = await serve((_, response) => {
      asked += 1;
      response.end();
    });
    expect(await asking(status(302, { location: other }))).toMatchObject({
      ...{ kind: 'retry', status: 302 },
      why: 'the ERP answered 302: redirects are not followed',
    });
    expect(asked).toBe(0);
  });

  it.each([200, 404])('treats a web page with status %i as a gateway’s answer', async (code) => {
    const answer = await asking(status(code, { 'content-type': 'text/html; charset=utf-8' }));
    expect(answer).toMatchObject({ kind: 'retry', status: code });
  });

  it('recognises a web page whatever its content type', async () => {
    const answer = await asking((_, response) => {
      response.setHeader('content-type', 'application/json');
      response.end('<!-- maintenance -->\n<!DOCTYPE html><title>Back soon</title>');
    });
    expect(answer).toMatchObject({ kind: 'retry', status: 200 });
  });

  it.each([
    ['application/xml', '<Body><Order/></Body>'],
    ['application/vnd.erp+xml; charset=utf-8', "<!-- of 6 o'clock --><Title/>"],
    ['application/json', '<?xml version="1.0"?><Head/>'],
    ['application/json', '<Body-of-orders/>'],
  ])('takes XML for no web page, whatever its root is called: %s, %s', async (type, body) => {
    const answer = await asking((_, response) => {
      response.setHeader('content-type', type).end(body);
    });
    expect(answer).toMatchObject({ kind: 'document', contentType: type });
  });

  it('reads no more of an answer than its limit', async () => {
    let written = 0;
    const answer = await asking((_, response) => {
      response.on('error', () => undefined);
      const more = (): void => {
        while (!response.destroyed && written < 100_000_000) {
          written += 65_536;
          if (!response.write(Buffer.alloc(65_536, 0x20))) {
            response.once('drain', more);
            return;
          }
        }
        response.end();
      };
      more();
    });
    expect(answer).toMatchObject({ kind: 'refused', code: 'too-large' });
    expect(written).toBeLessThan(50_000_000);
  });

  it('decompresses an answer that was compressed unasked, within the same limit', async () => {
    const packed = (body: Buffer): RequestListener => {
      return (_, response) =>
        response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync(body));
    };
    const small = await asking(packed(Buffer.from('{"order":"1"}')));
    expect(small.kind === 'document' && small.body.toString()).toBe('{"order":"1"}');
    // a thousand times its compressed size
    expect(await asking(packed(Buffer.alloc(8_000_000)))).toMatchObject({
      ...{ kind: 'refused', code: 'too-large' },
    });
    const broken = await asking((_, response) => {
      response.writeHead(200, { 'content-encoding': 'gzip' }).end('no gzip');
    });
    expect(broken).toMatchObject({ kind: 'retry', status: 200 });
    const unknown = await asking(status(200, { 'content-encoding': 'br' }));
    expect(unknown).toMatchObject({ kind: 'retry', status: 200 });
  });

  it('gives up an answer that does not end in time, begun or not', async () => {
    const silent = await asking(() => undefined, undefined, 200);
    expect(silent).toMatchObject({ kind: 'retry', why: 'no answer in 200 ms' });
    const slow = await asking((_, response) => void response.write('{'), undefined, 1000);
    expect(slow).toMatchObject({ kind: 'retry', why: 'no whole answer in 1000 ms' });
  });

  it('rejects with the reason of its caller, even in the middle of an answer', async () => {
    const begun = new AbortController();
    const origin = await serve((_, response) => {
      response.write('{', () => begun.abort(new Error('the partition is revoked')));
    });
    const answer = clientOf(origin).getDocument('/', begun.signal);
    await expect(answer).rejects.toThrow('the partition is revoked');
  });

  it('gives a retry without the secret if no server listens', async () => {
    const answer = await clientOf('http://127.0.0.1:1').getDocument('/', never);
    expect(answer).toMatchObject({ kind: 'retry', status: null, afterMs: null });
    expect(JSON.stringify(answer)).not.toContain(SECRET);
  });

  it('obtains a token by client credentials, once for all calls, and another if one is refused', async () => {
    let issued = 0;
    const tokenUrl = await serve((_, response) => {
      issued += 1;
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify({ access_token: `token-${issued}`, token_type: 'Bearer' }));
    });
    const origin = await serve(({ headers }, response) => {
      const isGood = headers.authorization === `Bearer token-${issued}` && issued > 1;
      response.writeHead(isGood ? 200 : 401).end('{}');
    });
    const credentials = { kind: 'oauth', tokenUrl, clientId: 'id', clientSecret: SECRET } as const;
    const client = clientOf(origin, credentials);
    expect(await client.getDocument('/', never)).toMatchObject({ kind: 'document' });
    expect(await client.getDocument('/', never)).toMatchObject({ kind: 'document' });
    expect(issued).toBe(2);
  });
});
