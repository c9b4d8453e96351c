import fc from 'fast-check';
import { type CommandOutcome, outcomeJson } from './command-outcomes.js';
import { REJECTION_CODES } from './rejection.js';
import { anyCharacter } from './testing/any-character.js';

const text = fc.string({ unit: anyCharacter });
const textOrNull = fc.option(text);
const number = fc.maxSafeNat();

const fields = fc.record<CommandOutcome>({
  machineId: textOrNull,
  source: fc.record({ topic: text, partition: number, offset: number, messageId: textOrNull }),
  code: fc.option(fc.constantFrom(...REJECTION_CODES)),
  detail: textOrNull,
  attempts: number,
  appliedAt: fc.option(number),
});
const outcomes = fc.oneof(
  fields,
  fc
    .tuple(fields, fc.array(text))
    .map(([outcome, workingOrders]) => ({ ...outcome, workingOrders })),
);

describe('outcomeJson', () => {
  it('writes the same text as JSON.stringify for any names', () => {
    fc.assert(
      fc.property(outcomes, (outcome) => {
        expect(outcomeJson(outcome)).toBe(JSON.stringify(outcome));
      }),
    );
  });

  it('writes different texts for names that cannot be encoded', () => {
    const machineId = '"\\\u0000\ud800';
    const source = { topic: 'a', partition: 0, offset: 1, messageId: null };
    const outcome = { machineId, source, code: null, detail: null, attempts: 0, appliedAt: null };
    expect(outcomeJson(outcome)).toBe(JSON.stringify(outcome));
  });
});
