import { ServiceWithLogin } from '../test/service-with-login.js';
import {
  type ReceivedRequest,
  respond,
  type StubAnswer,
} from '../../http-calls/test/stub-service.js';
import * as stubbed from '../test/stubbed-client.js';
import type { MachineCloudClient } from './machine-cloud-client.js';

const NOTHING = { kind: 'data', data: [] };

describe('client credentials', () => {
  let service: ServiceWithLogin;
  let client: MachineCloudClient;

  beforeEach(() => {
    service = new ServiceWithLogin(stubbed.service);
    service.login = granted({ token_type: 'Bearer' });
    client = connect();
  });

  function connect(scope?: string): MachineCloudClient {
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
    const scoped = connect('machines.read machines.write');
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
