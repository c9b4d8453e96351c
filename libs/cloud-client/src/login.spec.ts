import { setMaxListeners } from 'node:events';
import { realDelayMs } from '#libs/clock';
import { ServiceWithLogin } from '../test/service-with-login.js';
import { hang, respond, type StubAnswer } from '../../http-calls/test/stub-service.js';
import * as stubbed from '../test/stubbed-client.js';
import type { CloudClientOptions, MachineCloudClient } from './machine-cloud-client.js';

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
      expect(await client.getMachineInfo()).toEqual({ kind: 'data', data: [] });
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
    expect(await patient).toEqual({ kind: 'data', data: [] });
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
