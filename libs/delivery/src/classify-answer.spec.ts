import fc from 'fast-check';
import { classifyAnswer, RETRY_BACK_OFF, type ServiceAnswer } from './classify-answer.js';

const longest = (): number => 1;

function retry(afterMs: number | null): ServiceAnswer {
  return { kind: 'retry', afterMs, error: new Error('503 from the service') };
}

describe('classifyAnswer', () => {
  it.each(['data', 'noData'] as const)('takes %s for applied', (kind) => {
    expect(classifyAnswer({ kind }, 1)).toEqual({ kind: 'applied' });
  });

  it('passes a refusal on as it is', () => {
    const refusal = { kind: 'rejected', status: 422, detail: 'no such reason' } as const;
    expect(classifyAnswer(refusal, 3)).toEqual(refusal);
  });

  it('tries again after a failure, longer each time', () => {
    const why = '503 from the service';
    const tryAgain = { kind: 'try-again', why, cause: 'service', retryAfterMs: 0 };
    expect(classifyAnswer(retry(null), 1, longest)).toEqual({ ...tryAgain, waitMs: 200 });
    expect(classifyAnswer(retry(null), 2, longest)).toEqual({ ...tryAgain, waitMs: 400 });
  });

  it('takes Retry-After for the floor of its own back-off, not for a way around it', () => {
    expect(classifyAnswer(retry(60_000), 1, longest)).toHaveProperty('waitMs', 60_000);
    expect(classifyAnswer(retry(0), 1, longest)).toHaveProperty('waitMs', 200);
  });

  it('tells what the service asked for apart from its own back-off, which asks for nothing', () => {
    expect(classifyAnswer(retry(60_000), 1, longest)).toHaveProperty('retryAfterMs', 60_000);
    expect(classifyAnswer(retry(50), 1, longest)).toMatchObject({ retryAfterMs: 50, waitMs: 200 });
    expect(classifyAnswer(retry(null), 9, longest)).toHaveProperty('retryAfterMs', 0);
  });

  it('waits as long as Retry-After asks, and no longer than the cap otherwise', () => {
    const random = fc.double({ min: 0, max: 1, noNaN: true, maxExcluded: true });
    const asked = fc.option(fc.nat(86_400_000));
    fc.assert(
      fc.property(asked, fc.integer({ min: 1, max: 1000 }), random, (afterMs, attempt, chance) => {
        const verdict = classifyAnswer(retry(afterMs), attempt, () => chance);
        if (verdict.kind !== 'try-again') throw new Error('a failure is tried again');
        expect(verdict.retryAfterMs).toBe(afterMs ?? 0);
        expect(verdict.waitMs).toBeGreaterThanOrEqual(verdict.retryAfterMs);
        expect(verdict.waitMs).toBeLessThanOrEqual(Math.max(afterMs ?? 0, RETRY_BACK_OFF.capMs));
      }),
    );
  });

  it.each([401, 403] as const)(
    'tries again when the token is refused with %i, and says whether one machine may be the cause',
    (status) => {
      const verdict = classifyAnswer({ kind: 'unauthorised', status }, 1, longest);
      expect(verdict).toMatchObject({
        kind: 'try-again',
        waitMs: 200,
        retryAfterMs: 0,
        cause: status === 403 ? 'forbidden' : 'token-refused',
      });
      expect(verdict).toHaveProperty('why', expect.stringContaining(String(status)));
    },
  );
});
