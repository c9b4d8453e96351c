import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fixedToken } from '#libs/access-tokens';
import type { TokenSettings } from '#libs/config';
import { ServiceWithLogin } from '../test/service-with-login.js';
import { respond } from '../../http-calls/test/stub-service.js';
import * as stubbed from '../test/stubbed-client.js';
import type { MachineCloudClient } from './machine-cloud-client.js';

const LOGIN: TokenSettings = { kind: 'login', email: 'me@example.com', password: 'hunter2' };
const APPLIED = { kind: 'data', data: null };

describe('a token that the service refuses', () => {
  let service: ServiceWithLogin;
  let client: MachineCloudClient;

  beforeEach(() => {
    service = new ServiceWithLogin(stubbed.service);
    client = stubbed.connect({ token: LOGIN });
  });

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
    const fixed = stubbed.connect({ token: fixedToken('the-only-one') });
    service.judge = () => 401;
    expect(await fixed.setWorkOrderList([])).toEqual({ kind: 'unauthorised', status: 401 });
    expect(service.called).toEqual(['the-only-one']);
  });

  it.each([401, 403])('with %i is read from its file again at once', async (status) => {
    const directory = await mkdtemp(join(tmpdir(), 'refused-token-'));
    const path = join(directory, 'token');
    await writeFile(path, 'old');
    const fromFile = stubbed.connect({ token: { kind: 'file', path } });
    service.judge = (token) => (token === 'new-one' ? 200 : status);
    expect(await fromFile.setWorkOrderList([])).toEqual({ kind: 'unauthorised', status });
    await writeFile(path, 'new-one');
    expect(await fromFile.setWorkOrderList([])).toEqual(APPLIED);
    await rm(directory, { recursive: true });
    expect(service.called).toEqual(['old', 'old', 'new-one']);
  });
});
