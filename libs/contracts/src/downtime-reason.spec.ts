import fc from 'fast-check';

import { parseDowntimeReason, startInFuture, type DowntimeReason } from './downtime-reason.js';

const START = 1_763_680_000;
const MESSAGE = { machineId: 'M-1', reasonId: '22', startTime: START };

function read(message: unknown): DowntimeReason {
  const parsed = parseDowntimeReason(Buffer.from(JSON.stringify(message)));
  if (!parsed.ok) throw new Error(`${parsed.rejection.code}: ${parsed.rejection.detail}`);
  return parsed.value;
}

describe('downtime reasons', () => {
  it('reads a closed period', () => {
    expect(read({ ...MESSAGE, endTime: START + 600, shift: 'B' })).toEqual({
      ...MESSAGE,
      endTime: START + 600,
    });
  });

  it.each([[undefined], [null], ['']])('reads a period without an end (%p) as open', (endTime) => {
    expect(read({ ...MESSAGE, endTime })).toEqual(MESSAGE);
  });

  it('reads times in every form allowed', () => {
    const times = { startTime: '1763680000', endTime: '2025-11-21T00:16:40+01:00' };

    expect(read({ ...MESSAGE, ...times })).toEqual({ ...MESSAGE, endTime: START + 600 });
  });

  it('takes reason for reasonId, and both when they agree', () => {
    const { reasonId, ...rest } = MESSAGE;

    expect(read({ ...rest, reason: reasonId })).toEqual(MESSAGE);
    expect(read({ ...rest, reason: reasonId, reasonId: null })).toEqual(MESSAGE);
    expect(read({ ...MESSAGE, reason: reasonId })).toEqual(MESSAGE);
  });

  it('allows a period that ends as it begins', () => {
    expect(read({ ...MESSAGE, endTime: START }).endTime).toBe(START);
  });

  it.each([
    [{ startTime: undefined }, 'missing-times: startTime is missing'],
    [{ startTime: '', endTime: START }, 'missing-times: startTime is missing'],
    [{ endTime: START - 1 }, 'start-after-end'],
    [{ startTime: START * 1000 }, 'invalid-message: startTime must be epoch seconds; milli'],
    [{ endTime: START * 1000 }, 'invalid-message: endTime must be epoch seconds; milli'],
    [{ reasonId: undefined }, 'invalid-message: reasonId is missing'],
    [{ reason: '23' }, 'invalid-message: reasonId and reason name different reasons'],
    [{ reasonId: ['22'] }, 'invalid-message: reasonId must be a string'],
    [{ machineId: 7 }, 'invalid-message: machineId must be a string'],
  ])('refuses %j', (change, complaint) => {
    expect(() => read({ ...MESSAGE, ...change })).toThrow(complaint);
  });

  it('says which machine a refused message names', () => {
    expect(parseDowntimeReason(Buffer.from('{"machineId":"M-1"}'))).toMatchObject({
      rejection: { code: 'missing-times', machineId: 'M-1' },
    });
  });

  it('never throws, whatever the fields hold', () => {
    const value = fc.jsonValue();
    const messages = fc.record(
      { machineId: value, reasonId: value, reason: value, startTime: value, endTime: value },
      { requiredKeys: [] },
    );
    fc.assert(
      fc.property(messages, (message) => {
        const body = Buffer.from(JSON.stringify(message));
        expect(() => parseDowntimeReason(body)).not.toThrow();
      }),
    );
  });
});

describe('a start beside the clock', () => {
  it.each([
    ['now', 0],
    ['hold', 1],
    ['hold', 120],
    ['reject', 121],
  ])('is %s when it lies %i s ahead and 120 are allowed', (verdict, ahead) => {
    expect(startInFuture({ startTime: START + ahead }, START, 120)).toBe(verdict);
  });
});
