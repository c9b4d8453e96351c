import { gzipSync } from 'node:zlib';
import { realDelayMs } from '#libs/clock';
import { HttpError } from '#libs/http-calls';
import { hang, respond, type StubAnswer, StubService } from '../../http-calls/test/stub-service.js';
import { calls, client, connect, service } from '../test/stubbed-client.js';
import type { MachineCloudClient } from './machine-cloud-client.js';

const PUT_NOTHING = [{ machineId: 'M-1', workingOrders: [] }];
const LOG_QUERY = { machineId: 'M-1', startTime: 0, endTime: 1 };

async function retryError(answer: Promise<{ kind: string }>): Promise<HttpError> {
  const outcome = await answer;
  if (!('error' in outcome) || !(outcome.error instanceof HttpError)) {
    throw new Error(`expected a retry, got ${JSON.stringify(outcome)}`);
  }
  expect(outcome.kind).toBe('retry');
  return outcome.error;
}

describe('a status', () => {
  it('204 is no data to a read and success to a command', async () => {
    service.answers(respond(204));
    expect(await client.getMachineState('M-1')).toEqual({ kind: 'noData' });
    expect(await client.getClassificationReasons('M-1')).toEqual({ kind: 'noData' });
    expect(await client.setWorkOrderList(PUT_NOTHING)).toEqual({ kind: 'data', data: null });
  });

  it('200 with an empty reason list is no data too', async () => {
    service.answers(respond(200, { reasons: [] }));
    expect(await client.getClassificationReasons('M-1')).toEqual({ kind: 'noData' });
  });

  it.each(['100 Continue', '102 Processing', '103 Early Hints'])(
    'counts if it comes after an unasked %s',
    async (status) => {
      service.answers((request, response) => {
        response.socket?.write(`HTTP/1.1 ${status}\r\n\r\n`);
        respond(422, { message: 'no such machine' })(request, response);
      });
      const rejected = { kind: 'rejected', status: 422, detail: 'HTTP 422: no such machine' };
      const single = connect({ maxConnections: 1 });
      for (let call = 0; call < 3; call += 1) {
        expect(await single.setWorkOrderList(PUT_NOTHING)).toEqual(rejected);
      }
      expect(service.connections).toBe(1);
    },
  );

  it('of a redirect is not followed', async () => {
    const elsewhere = await StubService.start();
    service.answers(respond(307, '', { location: `${elsewhere.baseUrl}/api/v1/workOrderList` }));
    const error = await retryError(client.setWorkOrderList(PUT_NOTHING));
    const problem = `HTTP 307: redirects are not followed (to ${elsewhere.baseUrl})`;
    expect(error.message).toBe(`setWorkOrderList: ${problem}`);
    expect(elsewhere.connections).toBe(0);
    await elsewhere.stop();
  });
});

describe('Retry-After', () => {
  it('of more than a minute is reported with the status', async () => {
    service.answers(respond(503, '', { 'retry-after': '86400' }));
    const error = await retryError(client.getMachineInfo());
    expect(error.message).toBe('getMachineInfo: HTTP 503, with Retry-After of 86400 s');
  });
});

describe('a body', () => {
  it.each(['', '   ', 'OK', '<ok/>', '{"machineState":', 'null', '"\u0000"'])(
    'that is %j is malformed to a read and nothing to a command',
    async (body) => {
      service.answers(respond(200, body));
      const error = await retryError(client.getMachineState('M-1'));
      expect(error).toMatchObject({ code: 'malformed-answer', status: 200 });
      expect(await client.setWorkOrderList(PUT_NOTHING)).toEqual({ kind: 'data', data: null });
    },
  );

  it.each([
    '<html><body>Maintenance</body></html>',
    '\n<!DOCTYPE html>\n<title>We are back soon</title>',
    '<?xml version="1.0"?><!-- cached --><!doctype html PUBLIC "-//W3C//DTD XHTML 1.0">',
    '<HEAD><TITLE>Maintenance</TITLE></HEAD>',
    '<meta http-equiv="refresh" content="0; url=https://login.example.com">',
    '<script>location = "https://portal.example.com"</script>',
  ])('that is a web page is no answer of the service, to a command either: %j', async (body) => {
    service.answers(respond(200, body, { 'content-type': 'text/html' }));
    const error = await retryError(client.setWorkOrderList(PUT_NOTHING));
    expect(error).toMatchObject({ code: 'malformed-answer', status: 200 });
    expect(error.message).toContain('web page');
  });

  it('that is a compressed web page is no success of a command, while other compressed bodies are', async () => {
    const page = gzipSync('<html><body>Maintenance</body></html>');
    service.answers((_request, response) => {
      response
        .writeHead(200, { 'content-type': 'text/html', 'content-encoding': 'gzip' })
        .end(page);
    });
    const error = await retryError(client.setWorkOrderList(PUT_NOTHING));
    expect(error.message).toContain('web page');
    service.answers((_request, response) => {
      response.writeHead(200, { 'content-type': 'application/json', 'content-encoding': 'gzip' });
      response.end(gzipSync('{}'));
    });
    expect(await client.setWorkOrderList(PUT_NOTHING)).toEqual({ kind: 'data', data: null });
  });

  it('that is compressed unasked is reported as such, and not quoted', async () => {
    const body = gzipSync('{"message":"no such machine"}');
    const headers = { 'content-encoding': 'gzip' };
    service.answers((_request, response) => response.writeHead(200, headers).end(body));
    const error = await retryError(client.getMachineState('M-1'));
    expect(error.message).toContain('body is compressed');
    service.answers((_request, response) => response.writeHead(422, headers).end(body));
    expect(await client.setWorkOrderList(PUT_NOTHING)).toMatchObject({ detail: 'HTTP 422' });
  });

  it('with encoding identity in capitals, or an empty one, is not compressed', async () => {
    for (const contentEncoding of ['IDENTITY', '']) {
      const headers = { 'content-type': 'text/html', 'content-encoding': contentEncoding };
      service.answers(respond(200, 'OK', headers));
      expect(await client.setWorkOrderList(PUT_NOTHING)).toEqual({ kind: 'data', data: null });
    }
  });

  it('with a wrong field is malformed, naming the operation and the field but no value', async () => {
    service.answers(respond(200, [{ startTime: 'private' }]));
    const error = await retryError(client.getMachineActivityLog(LOG_QUERY));
    const why = 'getMachineActivityLog: malformed answer: [0].startTime is of type string';
    expect(error.message).toContain(why);
    expect(error.message).not.toContain('private');
  });

  it('that is nested too deeply is malformed', async () => {
    service.answers(respond(200, '['.repeat(200_000) + ']'.repeat(200_000)));
    expect((await retryError(client.getMachineInfo())).code).toBe('malformed-answer');
  });

  it.each([
    ['a state', 1, () => client.getMachineState('M-1')],
    ['a list of reasons', 4, () => client.getClassificationReasons('M-1')],
    ['an activity log', 8, () => client.getMachineActivityLog(LOG_QUERY)],
    ['a list of machines', 32, () => client.getMachineInfo()],
  ])('that does not end is read up to a limit: %s', async (_what, mebibytes, call) => {
    let written = 0;
    const dropped = new Promise((resolve) => {
      service.answers((_request, response) => {
        response.on('close', resolve);
        response.writeHead(200, { 'content-type': 'application/json' });
        const piece = Buffer.alloc(64 * 1024, ' ');
        const write = (): void => {
          while (!response.destroyed) {
            written += piece.length;
            if (!response.write(piece)) break;
          }
        };
        response.on('drain', write);
        write();
      });
    });
    const error = await retryError(call());
    expect(error).toMatchObject({ code: 'malformed-answer', status: 200 });
    await dropped;
    // what is in transit has been written, too
    expect(written / 2 ** 20).toBeGreaterThan(mebibytes);
    expect(written / 2 ** 20).toBeLessThan(mebibytes + 12);
    expect(await client.setWorkOrderList(PUT_NOTHING)).toEqual({ kind: 'data', data: null });
  });

  it('may come in chunks, cut within a character or a byte order mark', async () => {
    const names = Array.from({ length: 300 }, (_, number) => `Fräserei ${number} 東京`);
    const list = names.map((machineDisplayName, number) => ({
      machineUniqueId: `M-${number}`,
      factoryId: 'F-1',
      machineDisplayName,
    }));
    const bytes = Buffer.from(`\ufeff${JSON.stringify(list)}`);
    service.answers((_, response) => {
      response.writeHead(200, { 'content-type': 'application/json' });
      void (async () => {
        for (const [from, to] of [
          [0, 2],
          [2, 53],
          [53, bytes.indexOf('東') + 1],
          [bytes.indexOf('東') + 1, bytes.length],
        ] as const) {
          await new Promise((written) => response.write(bytes.subarray(from, to), written));
          await realDelayMs(5);
        }
        response.end();
      })();
    });
    const answer = await client.getMachineInfo();
    expect(answer.kind === 'data' && answer.data.map(({ displayName }) => displayName)).toEqual(
      names,
    );
  });

  it('that breaks off is a network failure of a read, while the status decides for other calls', async () => {
    let status = 200;
    service.answers((_request, response) => {
      response.writeHead(status, { 'content-length': '1000' });
      response.write('[{"machine', () => response.destroy());
    });
    expect((await retryError(client.getMachineInfo())).code).toBe('network');
    expect(await client.setWorkOrderList(PUT_NOTHING)).toEqual({ kind: 'data', data: null });
    status = 422;
    expect(await client.getMachineInfo()).toMatchObject({ kind: 'rejected', detail: 'HTTP 422' });
  });
});

describe('a body that hangs', () => {
  let hurried: MachineCloudClient;

  const hangsAfter = (status: number, headers: Record<string, string> = {}): Promise<void> =>
    new Promise((dropped) => {
      service.answers((_request, response) => {
        response.on('close', dropped);
        response.writeHead(status, { 'content-length': '1000', ...headers });
        response.write('[{"machine');
      });
    });

  beforeEach(() => {
    // time enough for a status on a busy machine
    hurried = connect({ timeoutMs: 1000 });
  });

  it.each(['hangs', 'breaks off'])('makes a command be repeated if a web page %s', async (how) => {
    service.answers((_request, response) => {
      response.writeHead(200, { 'content-length': '1000', 'content-type': 'text/html' });
      response.write('<html><body>Maintenance');
      if (how === 'breaks off') setTimeout(() => response.destroy(), 20);
    });
    const error = await retryError(hurried.setWorkOrderList(PUT_NOTHING));
    expect(error).toMatchObject({ code: 'malformed-answer', status: 200 });
  });

  it.each<[number, Record<string, string>, object]>([
    [200, {}, { kind: 'data', data: null }],
    [202, {}, { kind: 'data', data: null }],
    [422, {}, { kind: 'rejected', status: 422, detail: 'HTTP 422' }],
    [503, { 'retry-after': '7' }, { kind: 'retry', afterMs: 7000, error: { status: 503 } }],
  ])('leaves to a command what its status %i says', async (status, headers, answer) => {
    const dropped = hangsAfter(status, headers);
    expect(await hurried.setWorkOrderList(PUT_NOTHING)).toMatchObject(answer);
    await dropped;
    expect(calls).toMatchObject([{ status }]);
  });

  it('is a time-out of a read, which is repeated', async () => {
    const dropped = hangsAfter(200);
    const error = await retryError(hurried.getMachineInfo());
    expect(error).toMatchObject({ code: 'timeout', status: 200 });
    await dropped;
  });
});

describe('a service out of reach', () => {
  it('that hangs is a time-out', async () => {
    const hurried = connect({ timeoutMs: 50 });
    service.answers(hang);
    const error = await retryError(hurried.setWorkOrderList(PUT_NOTHING));
    expect(error).toMatchObject({ code: 'timeout' });
    expect(calls).toMatchObject([{ status: 'timeout' }]);
  });

  it('that keeps sending a little is a time-out too', async () => {
    const hurried = connect({ timeoutMs: 200 });
    service.answers((_request, response) => {
      const trickle = setInterval(() => response.write(' '), 10);
      response.on('close', () => clearInterval(trickle));
    });
    expect((await retryError(hurried.getMachineInfo())).code).toBe('timeout');
  });

  it.each<[string, StubAnswer]>([
    ['drops the connection', (_request, response) => response.destroy()],
    ['speaks no HTTP', (_request, response) => response.socket?.end('SSH-2.0-OpenSSH_9.6\r\n')],
  ])('that %s is a network failure', async (_, answer) => {
    service.answers(answer);
    expect((await retryError(client.getMachineInfo())).code).toBe('network');
  });

  it('without a listener is a network failure with the code of the connection', async () => {
    const gone = await StubService.start();
    await gone.stop();
    const lost = connect({ baseUrl: gone.baseUrl });
    const error = await retryError(lost.getMachineInfo());
    expect(error).toMatchObject({ code: 'network' });
    expect(error.message).toContain('ECONNREFUSED');
    expect(calls).toMatchObject([{ status: 'network' }]);
  });

  it('that speaks no TLS is reported as such', async () => {
    const secure = connect({ baseUrl: service.baseUrl.replace('http', 'https') });
    const error = await retryError(secure.getMachineInfo());
    const problem = 'no TLS is spoken there (ERR_SSL_WRONG_VERSION_NUMBER)';
    expect(error.message).toBe(`getMachineInfo: ${problem}`);
  });
});
