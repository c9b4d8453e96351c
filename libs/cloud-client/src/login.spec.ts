import { setMaxListeners } from 'node:events';
import { writeFileSync } from 'node:fs';
import { realDelayMs } from '#libs/clock';
import { temporaryFile } from '../../config/test/temporary-files.js';
import { ServiceWithLogin } from '../test/service-with-login.js';
import {
  hang,
  respond,
  type StubAnswer,
  type ReceivedRequest,
} from '../../http-calls/test/stub-service.js';
import * as stubbed from '../test/stubbed-client.js';
import type { CloudClientOptions, MachineCloudClient } from './machine-cloud-client.js';

const APPLIED = { kind: 'data', data: null };
const NOTHING = { kind: 'data', data: [] };
const token = { kind: 'login', email: 'me@example.com', password: 'hunter2' } as const;

let service: ServiceWithLogin;
let client: MachineCloudClient;

beforeEach(() => {
  service = new ServiceWithLogin(stubbed.service);
  client = connect();
});

function connect(options: Partial<CloudClientOptions> = {}): MachineCloudClient {
  return stubbed.connect({ token, ...options });
}

/** A service whose clock differs from ours issues a JWT. */
function grantJwt(lifeSeconds: number): StubAnswer {
  const date = 'Fri, 21 Nov 2025 12:00:00 GMT';
  const exp = Date.parse(date) / 1000 + lifeSeconds;
  const jwt = `e30.${Buffer.from(JSON.stringify({ exp })).toString('base64url')}.`;
  return (request, response) => {
    service.issued += 1;
    respond(200, { token: jwt }, { date })(request, response);
  };
}

describe('the login', () => {
  it('asks for a token with e-mail address and password, once for calls at the same time', async () => {
    await Promise.all([1, 2, 3].map(() => client.getMachineInfo()));
    await client.getMachineInfo();
    expect(service.logins).toHaveLength(1);
    const [{ method, url, headers, body } = service.stub.lastRequest] = service.logins;
    expect([method, url]).toEqual(['POST', '/api/v1/security/getAPIToken']);
    expect(headers).toMatchObject({ 'content-type': 'application/json' });
    expect(headers).not.toHaveProperty('authorization');
    expect(JSON.parse(body)).toEqual({ userEmail: 'me@example.com', password: 'hunter2' });
    expect(service.called).toEqual(Array(4).fill('token-1'));
  });

  it('is below the path of the base URL, as all calls are', async () => {
    const other = connect({ baseUrl: `${service.stub.baseUrl}/tenant/` });
    await other.getMachineInfo();
    expect(service.stub.requests.map(({ url }) => url)).toEqual([
      '/tenant/api/v1/security/getAPIToken',
      '/tenant/api/v1/mahcineInfo',
    ]);
  });

  it('is repeated before a token of known lifetime expires, while calls still use it', async () => {
    service.judge = () => 200;
    service.login = (request, response) => {
      service.login = grantJwt(3600);
      grantJwt(1)(request, response);
    };
    await client.getMachineInfo();
    while (service.logins.length < 2) {
      expect(await client.getMachineInfo()).toEqual(NOTHING);
      await realDelayMs(5);
    }
    while (new Set(service.called).size < 2) await client.getMachineInfo();
    expect(service.logins).toHaveLength(2);
  });

  it.each([400, 401, 403])('that is answered %i makes calls unauthorised', async (status) => {
    service.login = respond(status, 'no');
    const why = expect.stringContaining(
      `getAPIToken: the credentials are not accepted (HTTP ${status}`,
    ) as string;
    const unauthorised = { kind: 'unauthorised', status: 401, why };
    expect(await client.getMachineInfo()).toEqual(unauthorised);
    expect(await client.getMachineState('M-1')).toEqual(unauthorised);
    expect(service.logins).toHaveLength(1);
    expect(service.called).toEqual([]);
  });

  it.each<[string, StubAnswer, string]>([
    ['503', respond(503), 'HTTP 503'],
    ['404', respond(404), 'HTTP 404'],
    ['302', respond(302, '', { location: '/' }), 'HTTP 302: redirects are not followed'],
    [
      'no token',
      respond(200, {}),
      'malformed answer: token is absent, expected a non-empty string',
    ],
    ['nothing', respond(204), 'an empty answer'],
    ['a page', respond(200, '<html>'), 'malformed answer: body is not JSON'],
    ['nothing in time', hang, 'no answer in 500 ms'],
    [
      'a token with a line end',
      respond(200, { token: 'a\n' }),
      'malformed answer: token is of type string, expected what a header can carry',
    ],
    [
      'more than a token can be',
      respond(200, { token: 'a'.repeat(100_000) }),
      'the answer has more than 65536 bytes',
    ],
  ])('that is answered %s makes calls retry, and says why', async (_what, answer, why) => {
    service.login = answer;
    const asked = connect(answer === hang ? { timeoutMs: 500 } : {});
    const outcome = await asked.getMachineInfo();
    expect(outcome).toMatchObject({ kind: 'retry', error: { code: 'network' } });
    expect(outcome.kind === 'retry' && outcome.error.message).toBe(
      `getMachineInfo: no access token: getAPIToken: ${why}`,
    );
    expect(service.called).toEqual([]);
  });

  it('says how long to wait if the answer does', async () => {
    service.login = respond(429, '', { 'retry-after': '70' });
    expect(await client.getMachineInfo()).toMatchObject({ kind: 'retry', afterMs: 70_000 });
    const { afterMs } = (await client.getMachineInfo()) as { afterMs: number };
    expect(afterMs).toBeGreaterThan(60_000);
    expect(service.logins).toHaveLength(1);
  });

  it('continues for the others when a caller gives up', async () => {
    const abort = new AbortController();
    let grant!: () => void;
    const asked = new Promise<void>((resolve) => {
      service.login = (request, response) => {
        grant = () => service.grant((token) => ({ token }))(request, response);
        resolve();
      };
    });
    const impatient = client.getMachineInfo(abort.signal);
    const patient = client.getMachineInfo();
    await asked;
    abort.abort(new Error('shutting down'));
    await expect(impatient).rejects.toThrow('shutting down');
    grant();
    expect(await patient).toEqual(NOTHING);
    expect(service.called).toEqual(['token-1']);
  });

  it('does not wait for a connection with calls that hang', async () => {
    const narrow = connect({ maxConnections: 1 });
    service.login = grantJwt(1);
    service.judge = () => 'hang';
    const over = new AbortController();
    setMaxListeners(0, over.signal);
    const hanging = [narrow.getMachineInfo(over.signal)];
    while (service.issued < 2) {
      await realDelayMs(20);
      hanging.push(narrow.getMachineInfo(over.signal));
    }
    over.abort(new Error('over'));
    for (const call of hanging) await expect(call).rejects.toThrow('over');
    expect(service.called).toHaveLength(1);
  });

  it('is aborted when the client closes', async () => {
    const asked = new Promise<void>((resolve) => {
      service.login = () => resolve();
    });
    const call = client.getMachineInfo();
    await asked;
    await client.closeConnections();
    expect(await call).toMatchObject({
      kind: 'retry',
      error: { message: expect.stringContaining('no access token') as string },
    });
  });
});

describe('a token that the service refuses', () => {
  /** From now on the service accepts only new tokens. */
  function withdraw(): void {
    const known = service.issued;
    service.judge = (token) => (Number(token.replace('token-', '')) > known ? 200 : 401);
  }

  it('is replaced by one login for all calls, each of which is repeated once; later calls use the new token', async () => {
    await client.setWorkOrderList([]);
    withdraw();
    const calls = Array.from({ length: 20 }, () => client.setWorkOrderList([]));
    expect(await Promise.all(calls)).toEqual(Array(20).fill(APPLIED));
    expect(service.logins).toHaveLength(2);
    await client.setWorkOrderList([]);
    expect(service.called.filter((token) => token === 'token-2')).toHaveLength(21);
    expect(service.called.at(-1)).toBe('token-2');
  });

  it('makes a call unauthorised if the next token is refused too, without another login', async () => {
    service.judge = () => 401;
    const answers = [];
    while (answers.length < 3) answers.push(await client.setWorkOrderList([]));
    expect(answers).toEqual(Array(3).fill({ kind: 'unauthorised', status: 401 }));
    expect(service.called).toEqual(['token-1', 'token-2', 'token-2', 'token-2']);
    expect(service.logins).toHaveLength(2);
  });

  it('is not tried a second time if the login issues it again', async () => {
    service.judge = () => 401;
    service.login = respond(200, { token: 'always-the-same' });
    expect(await client.setWorkOrderList([])).toEqual({ kind: 'unauthorised', status: 401 });
    expect(service.called).toEqual(['always-the-same']);
  });

  it('makes a call be retried if no other can be obtained', async () => {
    await client.setWorkOrderList([]);
    withdraw();
    service.login = respond(502);
    const outcome = await client.setWorkOrderList([]);
    expect(outcome.kind === 'retry' && outcome.error.message).toBe(
      'setWorkOrderList: no access token: getAPIToken: HTTP 502',
    );
  });

  it('with 403 is replaced, however new it is, and the next one kept', async () => {
    service.judge = (token) => (token === 'token-1' ? 403 : 200);
    expect(await client.setWorkOrderList([])).toEqual(APPLIED);
    service.judge = () => 403;
    expect(await client.setWorkOrderList([])).toEqual({ kind: 'unauthorised', status: 403 });
    expect(service.logins).toHaveLength(2);
    expect(service.called).toEqual(['token-1', 'token-2', 'token-2']);
  });

  it('is the only one if it is fixed', async () => {
    const fixed = stubbed.connect({ token: { kind: 'fixed', token: 'the-only-one' } });
    service.judge = () => 401;
    expect(await fixed.setWorkOrderList([])).toEqual({ kind: 'unauthorised', status: 401 });
    expect(service.called).toEqual(['the-only-one']);
  });

  it.each([401, 403])('with %i is read from its file again at once', async (status) => {
    const path = temporaryFile('token', 'old');
    const fromFile = stubbed.connect({ token: { kind: 'file', path } });
    service.judge = (token) => (token === 'new-one' ? 200 : status);
    expect(await fromFile.setWorkOrderList([])).toEqual({ kind: 'unauthorised', status });
    writeFileSync(path, 'new-one');
    expect(await fromFile.setWorkOrderList([])).toEqual(APPLIED);
    expect(service.called).toEqual(['old', 'old', 'new-one']);
  });
});

describe('client credentials', () => {
  beforeEach(() => {
    service.login = granted({ token_type: 'Bearer' });
    client = withCredentials();
  });

  function withCredentials(scope?: string): MachineCloudClient {
    return stubbed.connect({
      token: {
        kind: 'oauth',
        tokenUrl: `${stubbed.service.baseUrl}/oauth/token?tenant=7`,
        clientId: 'bridge:1',
        clientSecret: 'p/ss wörd',
        ...(scope !== undefined && { scope }),
      },
    });
  }

  function granted(fields: object): StubAnswer {
    return service.grant((token) => ({ access_token: token, ...fields }));
  }

  /** A server that accepts the credentials in one place only. */
  function takes(place: 'basic' | 'body', refusal: StubAnswer): void {
    service.login = (request, response) => {
      const isTaken = (request.headers.authorization !== undefined) === (place === 'basic');
      (isTaken ? granted({}) : refusal)(request, response);
    };
  }

  const placeOf = ({ headers }: ReceivedRequest): string =>
    headers.authorization === undefined ? 'body' : 'basic';

  it('are sent in a header, form-encoded, and the token is used as Bearer', async () => {
    expect(await client.getMachineInfo()).toEqual(NOTHING);
    const { method, url, headers, body } = service.logins[0]!;
    expect([method, url, body]).toEqual([
      'POST',
      '/oauth/token?tenant=7',
      'grant_type=client_credentials',
    ]);
    expect(headers).toMatchObject({
      'content-type': 'application/x-www-form-urlencoded',
      authorization: `Basic ${Buffer.from('bridge%3A1:p%2Fss+w%C3%B6rd').toString('base64')}`,
    });
    expect(service.called).toEqual(['token-1']);
  });

  it('ask for a scope if there is one', async () => {
    const scoped = withCredentials('machines.read machines.write');
    await scoped.getMachineInfo();
    expect(service.logins[0]?.body).toBe(
      'grant_type=client_credentials&scope=machines.read+machines.write',
    );
  });

  it.each([400, 401])(
    'are sent in the body when the header is answered %i, then always',
    async (status) => {
      takes('body', respond(status, { error: 'invalid_client' }));
      expect(await client.getMachineInfo()).toEqual(NOTHING);
      expect(service.logins.map(placeOf)).toEqual(['basic', 'body']);
      expect(Object.fromEntries(new URLSearchParams(service.logins[1]?.body))).toEqual({
        grant_type: 'client_credentials',
        client_id: 'bridge:1',
        client_secret: 'p/ss wörd',
      });
      // metrics count them beside the calls
      expect(stubbed.calls.map((call) => [call.operation, call.status])).toEqual([
        ['getOAuthToken', status],
        ['getOAuthToken', 200],
        ['getMachineInfo', 200],
      ]);
      service.judge = (token) => (token === 'token-1' ? 401 : 200);
      expect(await client.getMachineInfo()).toEqual(NOTHING);
      expect(service.logins.map(placeOf)).toEqual(['basic', 'body', 'body']);
    },
  );

  it('are not sent in the body if the server is only overloaded', async () => {
    takes('body', respond(503));
    expect(await client.getMachineInfo()).toMatchObject({ kind: 'retry' });
    expect(service.logins.map(placeOf)).toEqual(['basic']);
  });

  it('that are refused in both places make calls unauthorised, and the log says why', async () => {
    service.login = respond(400, { error: 'invalid_scope', error_description: 'p/ss wörd' });
    const why = 'getOAuthToken: the credentials are not accepted (HTTP 400: invalid_scope)';
    expect(await client.getMachineInfo()).toEqual({ kind: 'unauthorised', status: 401, why });
    expect(service.logins).toHaveLength(2);
    expect(stubbed.logs.lines()).toEqual([{ msg: 'access token not renewed', why }]);
  });

  it.each(['bearer', 'BEARER', undefined, null])('may be answered with %j', async (type) => {
    service.login = granted({ token_type: type });
    expect(await client.getMachineInfo()).toEqual(NOTHING);
  });

  it('may not be answered with a token of another type than Bearer', async () => {
    service.login = granted({ token_type: 'mac' });
    const outcome = await client.getMachineInfo();
    expect(outcome.kind === 'retry' && outcome.error.message).toBe(
      'getMachineInfo: no access token: getOAuthToken: malformed answer: ' +
        'token_type is of type string, expected Bearer',
    );
  });

  it.each<[unknown, number | null]>([
    [3600, 3_600_000],
    ['3600', 3_600_000],
    [0.5, 500],
    ...['soon', -1, 0, null, true].map((life): [unknown, null] => [life, null]),
  ])('give a token that lives %j seconds, if that makes sense', async (life, lifeMs) => {
    service.login = granted({ expires_in: life });
    await client.getMachineInfo();
    const obtained = { msg: 'access token obtained', operation: 'getOAuthToken', lifeMs };
    expect(stubbed.logs.lines()).toEqual([obtained]);
  });
});
