import { inspect } from 'node:util';
import { realDelayMs } from '#libs/clock';
import type { TokenSettings } from '#libs/config';
import type { HttpAnswer } from '#libs/http-calls';
import { hang, respond, type StubAnswer, StubService } from '../../http-calls/test/stub-service.js';
import { calls, connect, logs, service } from '../test/stubbed-client.js';
import type { MachineCloudClient } from './machine-cloud-client.js';

const dropped: StubAnswer = (_request, response) => response.destroy();

function clientWith(token: TokenSettings, baseUrl = service.baseUrl): MachineCloudClient {
  return connect({ baseUrl, token, timeoutMs: 1000 });
}

/** Everything visible of a call: its answer, its logs and its metrics. */
function traces(answer: HttpAnswer<unknown>): string {
  const error = answer.kind === 'retry' ? answer.error : undefined;
  const inspected = inspect([answer, calls], { depth: 20, showHidden: true, getters: true });
  return [JSON.stringify(answer), inspected, error?.message, error?.stack, logs.text()].join('\n');
}

describe('the token of a call', () => {
  const secret = 'eyJhbGciOi-secret';

  it.each([
    ['a rejection that echoes it', respond(422, `bad header: Bearer ${secret}`)],
    ['a server error that echoes it', respond(500, { authorization: `Bearer ${secret}` })],
    ['a malformed answer that echoes it', respond(200, `Bearer ${secret}`)],
    ['a refusal that echoes it', respond(401, `Bearer ${secret}`)],
    ['a time-out', hang],
    ['a dropped connection', dropped],
  ])('does not appear after %s', async (_case, answer) => {
    service.answers(answer);
    const outcome = await clientWith({ kind: 'fixed', token: secret }).getMachineState('M-1');
    expect(service.lastRequest.headers.authorization).toBe(`Bearer ${secret}`);
    expect(outcome.kind).toMatch(/retry|rejected|unauthorised/);
    expect(traces(outcome)).not.toContain(secret);
  });

  it.each([
    ['as it is', (text: string) => text],
    ['in JSON', (text: string) => text.replaceAll('/', '\\/').replaceAll('+', '\\u002b')],
    ['in a URL', encodeURIComponent],
    ['in HTML', (text: string) => text.replaceAll('+', '&#43;').replaceAll('/', '&#x2f;')],
    ['cut short', (text: string) => text.slice(0, 30)],
  ])('leaves nothing in the detail of a refusal that echoes it %s', async (_case, encode) => {
    const token = `begin0123+${'of0123456/a+token0123/'.repeat(20)}end01234`;
    service.answers(respond(422, `${'.'.repeat(250)} ${encode(`Bearer ${token}`)}`));
    const outcome = await clientWith({ kind: 'fixed', token }).getMachineState('M-1');
    expect(outcome).toMatchObject({ kind: 'rejected', detail: expect.any(String) as string });
    expect(traces(outcome)).not.toContain('begin0123');
  });

  it.each(['', 'a', 'ab'])(
    'removes a refusal that echoes it in base64, after %j',
    async (before) => {
      const token = 'begin/0123+?>~end';
      for (const encoding of ['base64', 'base64url'] as const) {
        const echo = Buffer.from(`${before}Bearer ${token}`).toString(encoding);
        service.answers(respond(422, { message: `bad header ${echo}` }));
        const outcome = await clientWith({ kind: 'fixed', token }).getMachineState('M-1');
        expect(outcome).toMatchObject({ detail: 'HTTP 422' });
      }
    },
  );

  it('keeps the text of a refusal that does not echo it', async () => {
    service.answers(respond(422, { message: 'begin of the period is missing' }));
    const outcome = await clientWith({ kind: 'fixed', token: 'begin0123+end' }).getMachineState(
      'M-1',
    );
    expect(outcome).toMatchObject({ detail: 'HTTP 422: begin of the period is missing' });
  });

  it('does not appear if no service listens', async () => {
    const gone = await StubService.start();
    await gone.stop();
    const outcome = await clientWith(
      { kind: 'fixed', token: secret },
      gone.baseUrl,
    ).getMachineInfo();
    expect(outcome.kind).toBe('retry');
    expect(traces(outcome)).not.toContain(secret);
  });

  it.each(['two words', 'line\nbreak', 'tökén', ''])(
    'is neither sent nor shown if no header can carry it: %j',
    async (token) => {
      const outcome = await clientWith({ kind: 'fixed', token }).getMachineInfo();
      expect(outcome).toMatchObject({
        kind: 'retry',
        error: { message: expect.stringContaining('no access token') as string },
      });
      if (token !== '') expect(traces(outcome)).not.toContain(token);
      expect(service.requests).toHaveLength(0);
    },
  );
});

describe('the credentials of a login', () => {
  const password = 'hunter2: "päss/wörd"';
  const encodings = (secret: string): string[] => [
    secret,
    JSON.stringify(secret).slice(1, -1),
    encodeURIComponent(secret),
    new URLSearchParams({ '': secret }).toString().slice(1),
    Buffer.from(secret).toString('base64').replace(/=*$/, ''),
    Buffer.from(`me:${secret}`).toString('base64'),
  ];
  const echo =
    (status: number): StubAnswer =>
    ({ headers, body }, response) => {
      const authorization = headers.authorization ?? '';
      const decoded = decodeURIComponent(body.replaceAll('+', ' '));
      const echoed = { error: password, error_description: [authorization, body, decoded] };
      respond(status, { token: 7, token_type: password, ...echoed })({} as never, response);
    };
  const ways: [string, () => TokenSettings][] = [
    ['login', () => ({ kind: 'login', email: 'me', password })],
    [
      'OAuth client',
      () => ({
        kind: 'oauth',
        tokenUrl: `${service.baseUrl}/oauth/token`,
        clientId: 'me',
        clientSecret: password,
      }),
    ],
  ];
  const answers: [string, StubAnswer][] = [
    ...[200, 400, 401, 404, 422, 500].map((status): [string, StubAnswer] => [
      `${status} with an echo`,
      echo(status),
    ]),
    ['a time-out', hang],
    ['a dropped connection', dropped],
  ];
  const cases = ways.flatMap(([name, way]) =>
    answers.map(([what, answer]) => [name, what, way, answer] as const),
  );

  it.each(cases)('of a %s do not appear after %s', async (_name, _what, way, answer) => {
    service.answers(answer);
    const outcome = await clientWith(way()).getMachineState('M-1');
    expect(outcome.kind).toMatch(/retry|unauthorised/);
    // the call's own deadline may come first on a busy machine
    for (let turn = 0; turn < 1000 && logs.text() === '[]'; turn += 1) await realDelayMs(5);
    expect(logs.text()).toContain('access token not renewed');
    const seen = traces(outcome);
    for (const secret of encodings(password)) expect(seen).not.toContain(secret);
  });
});
