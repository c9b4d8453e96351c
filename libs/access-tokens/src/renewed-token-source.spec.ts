import { setImmediate as turn } from 'node:timers/promises';
import fc from 'fast-check';
import { type HttpAnswer, HttpError } from '#libs/http-calls';
import { type CapturedLogs, captureLogs } from '../../logging/test/captured-logs.js';
import { renewalPauseMs, RenewedTokenSource } from './renewed-token-source.js';
import { jwtLifeMs, type TokenGrant } from './token-requests.js';

type Issued = HttpAnswer<TokenGrant>;

const FAILED: Extract<Issued, { kind: 'retry' }> = {
  kind: 'retry',
  afterMs: null,
  error: new HttpError('http-status', 'getAPIToken', 'HTTP 503'),
};

let nowMs: number;
let requests: ((answer: Issued) => void)[];
let source: RenewedTokenSource;
let logs: CapturedLogs;

beforeEach(() => {
  nowMs = 1_000_000;
  requests = [];
  logs = captureLogs();
  const issue = (): Promise<Issued> => new Promise((answer) => requests.push(answer));
  source = new RenewedTokenSource(
    { operation: 'getAPIToken', closeConnection: () => Promise.resolve() },
    issue,
    () => nowMs,
  );
});

afterEach(() => {
  logs.release();
});

/** Answers the pending request and lets all callers continue. */
async function answer(issued: Issued): Promise<void> {
  requests.at(-1)!(issued);
  await turn();
}

function grant(token: string, lifeMs: number | null = null): Issued {
  return { kind: 'data', data: { token, lifeMs } };
}

async function hold(token: string, lifeMs: number | null = null): Promise<void> {
  const obtained = source.obtainToken();
  await answer(grant(token, lifeMs));
  expect(await obtained).toEqual({ kind: 'token', token });
}

describe('a token in use', () => {
  it('is used without end if its lifetime is unknown', async () => {
    await hold('first');
    nowMs += 1e12;
    expect(source.currentToken()).toBe('first');
    expect(requests).toHaveLength(1);
  });

  it.each([
    [10_000, 8000],
    [100_000, 80_000],
    [300_000, 240_000],
    [3_600_000, 3_540_000],
  ])('with a life of %i ms is renewed in the background after %i ms', async (lifeMs, renewMs) => {
    await hold('first', lifeMs);
    nowMs += renewMs - 1;
    expect(source.currentToken()).toBe('first');
    expect(requests).toHaveLength(1);
    nowMs += 1;
    expect([source.currentToken(), source.currentToken()]).toEqual(['first', 'first']);
    expect(requests).toHaveLength(2);
    await answer(grant('second', lifeMs));
    expect(source.currentToken()).toBe('second');
  });

  it('is awaited once the old one has expired', async () => {
    await hold('first', 100_000);
    nowMs += 100_000;
    expect(source.currentToken()).toBeUndefined();
    await hold('second', 100_000);
    expect(source.currentToken()).toBe('second');
  });

  it('is used to its end while its renewal fails', async () => {
    await hold('first', 100_000);
    nowMs += 90_000;
    source.currentToken();
    await answer(FAILED);
    expect(source.currentToken()).toBe('first');
    nowMs += 10_000;
    expect(source.currentToken()).toBeUndefined();
  });
});

describe('a token that is refused', () => {
  it('is not replaced again within five seconds: the service refuses them all', async () => {
    await hold('first');
    void source.replaceToken('first', 401);
    await answer(grant('second'));
    nowMs += 4999;
    expect(await source.replaceToken('second', 401)).toBeNull();
    nowMs += 1;
    void source.replaceToken('second', 401);
    expect(requests).toHaveLength(3);
  });

  it('is replaced for a 403 whatever its age, and its successor only after a minute', async () => {
    await hold('first');
    let replaced = source.replaceToken('first', 403);
    await answer(grant('second'));
    expect(await replaced).toEqual({ kind: 'token', token: 'second' });
    nowMs += 59_999;
    expect(await source.replaceToken('second', 403)).toBeNull();
    nowMs += 1;
    replaced = source.replaceToken('second', 403);
    await answer(grant('third'));
    expect(await replaced).toEqual({ kind: 'token', token: 'third' });
    expect(await source.replaceToken('third', 403)).toBeNull();
  });

  it('is replaced for a 403 at once if it was obtained for another reason', async () => {
    await hold('first', 100_000);
    void source.replaceToken('first', 403);
    await answer(grant('second', 100_000));
    nowMs += 100_000;
    await hold('third', 100_000);
    const replaced = source.replaceToken('third', 403);
    await answer(grant('fourth'));
    expect(await replaced).toEqual({ kind: 'token', token: 'fourth' });
  });
});

describe('a login that fails', () => {
  it('is not repeated for a while, in which every request fails at once', async () => {
    const first = source.obtainToken();
    await answer(FAILED);
    const why = 'getAPIToken: HTTP 503';
    expect(await first).toEqual({ kind: 'unavailable', why, afterMs: null });
    const failure = await source.obtainToken();
    expect(failure).toMatchObject({ kind: 'unavailable', why });
    expect(requests).toHaveLength(1);
    nowMs += (failure as { afterMs: number }).afterMs;
    await hold('first');
  });

  it('is not repeated for calls whose token is refused either', async () => {
    await hold('first');
    const replaced = source.replaceToken('first', 401);
    await answer(FAILED);
    expect(await replaced).toMatchObject({ kind: 'unavailable' });
    expect(await source.replaceToken('first', 401)).toMatchObject({ kind: 'unavailable' });
    expect(requests).toHaveLength(2);
  });

  it('is logged when it begins to fail and when it succeeds again', async () => {
    while (requests.length < 2) {
      void source.obtainToken();
      await answer(FAILED);
      nowMs += 60_000;
    }
    await hold('secret-token', 300_000);
    expect(logs.lines()).toEqual([
      { msg: 'access token not renewed', why: 'getAPIToken: HTTP 503' },
      { msg: 'access token renewed again' },
      { msg: 'access token obtained', operation: 'getAPIToken', lifeMs: 300_000 },
    ]);
  });

  it('is not logged once the source is closed', async () => {
    void source.obtainToken();
    await source.closeTokenSource();
    await answer(FAILED);
    expect(logs.lines()).toEqual([]);
  });
});

describe('the pause after a renewal that failed', () => {
  it.each([
    [
      'doubles up to a minute',
      'unavailable',
      [1, 2, 3, 7, 1000],
      [1000, 2000, 4000, 60_000, 60_000],
    ],
    ['is longer when the credentials were refused', 'refused', [1, 2, 5], [5000, 10_000, 60_000]],
  ] as const)('%s', (_, kind, failures, pauses) => {
    expect(failures.map((count) => renewalPauseMs(count, kind, () => 1))).toEqual(pauses);
    const shortest = failures.map((count) => renewalPauseMs(count, kind, () => 0));
    expect(shortest).toEqual(pauses.map((pauseMs) => pauseMs / 2));
  });
});

describe('a token for a session that ends with it', () => {
  it('is the current one until that is due for renewal', async () => {
    await hold('first', 100_000);
    expect(await source.obtainFreshToken()).toEqual({ kind: 'token', token: 'first' });
    expect(requests).toHaveLength(1);
  });

  it('is a new one from then on, which is awaited', async () => {
    await hold('first', 100_000);
    nowMs += 90_000;
    const obtained = source.obtainFreshToken();
    await answer(grant('second', 100_000));
    expect(await obtained).toEqual({ kind: 'token', token: 'second' });
  });

  it('is the old one while it is valid and no other can be obtained', async () => {
    await hold('first', 100_000);
    nowMs += 90_000;
    const obtained = source.obtainFreshToken();
    await answer(FAILED);
    expect(await obtained).toEqual({ kind: 'token', token: 'first' });
    nowMs += 20_000;
    const later = source.obtainFreshToken();
    await answer(FAILED);
    expect(await later).toMatchObject({ kind: 'unavailable' });
  });
});

const NOW_MS = 1_763_680_000_000;

function jwt(claims: unknown): string {
  const part = (json: unknown): string => Buffer.from(JSON.stringify(json)).toString('base64url');
  return `${part({ alg: 'HS256' })}.${part(claims)}.signature`;
}

describe('the life of a JWT', () => {
  it('is the time left until exp', () => {
    expect(jwtLifeMs(jwt({ exp: 1_763_680_300 }), NOW_MS)).toBe(300_000);
    expect(jwtLifeMs(jwt({ exp: 1_763_680_000.5, name: 'Jürgen' }), NOW_MS)).toBe(500);
  });

  it.each([
    ['an opaque token', 'f3d1-secret'],
    ['two parts', 'a.b'],
    ['a part that is no JSON', 'a.b.c'],
    ['no exp', jwt({ sub: 'me' })],
    ['null in place of claims', jwt(null)],
    ['a text in place of a time', jwt({ exp: '1763680300' })],
    ['milliseconds', jwt({ exp: 1_763_680_300_000 })],
    ['a time that has passed, where a clock is wrong', jwt({ exp: 1_763_679_999 })],
  ])('is not known of %s', (_what, token) => {
    expect(jwtLifeMs(token, NOW_MS)).toBeNull();
  });

  it('is unknown for any other text', () => {
    fc.assert(fc.property(fc.string(), (text) => jwtLifeMs(`a.${text}.c`, NOW_MS) === null));
  });
});
