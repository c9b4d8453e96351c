import fc from 'fast-check';
import { isUnlisted, type UnlistedRefusal, UnlistedRefusals } from './unlisted-refusals.js';

interface Doubted {
  unlisted: UnlistedRefusal | undefined;
}

/** What a flow's calls come to, one after the other. */
const step = fc.record({
  command: fc.nat({ max: 3 }),
  answer: fc.oneof(
    fc.constantFrom(400, 404).map((status) => ({ kind: 'unlisted' as const, status })),
    fc.constant({ kind: 'applied' as const, status: 200 }),
    fc.constant({ kind: 'listed' as const, status: 422 }),
  ),
});

describe('a refusal that the interface does not list', () => {
  it.each([400, 404, 409, 413, 415])('is %i', (status) => {
    expect(isUnlisted({ kind: 'rejected', status, detail: '' })).toBe(true);
  });

  it.each([403, 422])('is not %i', (status) => {
    expect(isUnlisted({ kind: 'rejected', status, detail: '' })).toBe(false);
  });

  it('counts against a command only when the same came before it and after a call that was answered as listed', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
        const refusals = new UnlistedRefusals();
        const commands = new Map<number, Doubted>();
        const log: { number: number; command: number; status: number; isListed: boolean }[] = [];
        for (const [index, { command, answer }] of steps.entries()) {
          const number = index + 1;
          const { kind, status } = answer;
          const call = { number, latestApplied: 0, startedMs: 0 };
          const doubted = commands.get(command) ?? { unlisted: undefined };
          commands.set(command, doubted);
          if (kind === 'unlisted') {
            const verdict = { kind: 'rejected', status, detail: '' } as const;
            const review = refusals.review(doubted, verdict, { latestBegun: number });
            const mine = log.filter((entry) => entry.command === command && !entry.isListed);
            const run = mine.slice(mine.findLastIndex((entry) => entry.status !== status) + 1);
            const [first] = run;
            const proof = log.some((it) => it.isListed && first && it.number > first.number);
            expect(review === 'at-fault').toBe(proof);
            if (review === 'at-fault') commands.delete(command);
            log.push({ number, command, status, isListed: false });
            if (review === 'at-fault') {
              // another message of the machine follows
              for (const entry of log)
                if (entry.command === command && !entry.isListed) entry.command = -1;
            }
          } else {
            refusals.answered(call, kind === 'applied');
            log.push({ number, command: -1, status, isListed: true });
          }
        }
      }),
    );
  });

  it('counts by an empty call for three commands, and for others after one has been applied', () => {
    const refusals = new UnlistedRefusals();
    let number = 0;
    const call = () => ({ number: (number += 1), latestApplied: 0, startedMs: 0 });
    const verdict = { kind: 'rejected', status: 404, detail: '' } as const;
    const review = (doubted: Doubted) =>
      refusals.review(doubted, verdict, { latestBegun: call().number });
    const bring = (): string[] => {
      const doubted: Doubted = { unlisted: undefined };
      const reviews = [review(doubted), review(doubted)];
      refusals.emptyAnswered(call());
      return [...reviews, review(doubted)];
    };
    const asked = ['open', 'ask', 'at-fault'];
    for (let time = 0; time < 3; time += 1) expect(bring()).toEqual(asked);
    expect(bring()).toEqual(['open', 'open', 'open']);
    refusals.answered(call(), false);
    expect(bring()).toEqual(['open', 'open', 'open']);
    refusals.answered(call(), true);
    expect(bring()).toEqual(asked);
  });
});
