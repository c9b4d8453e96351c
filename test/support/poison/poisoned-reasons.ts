import { poisonOn, type PoisonMessage } from './poison-message.js';

const poison = poisonOn('reasons');
const REASON = { machineId: 'M-001', reasonId: '22', startTime: 1763680000 };

const reason = (change: object): string => JSON.stringify({ ...REASON, ...change });

export const POISONED_REASONS: readonly PoisonMessage[] = [
  poison('no times', 'missing-times', '{"machineId":"M-001","reasonId":"22"}'),
  poison('only an end', 'missing-times', reason({ startTime: null, endTime: 1763680600 })),
  poison('an end before the start', 'start-after-end', reason({ endTime: 1763679999 })),
  poison('a start in milliseconds', 'invalid-message', reason({ startTime: 1763680000000 })),
  poison('a start without offset', 'invalid-message', reason({ startTime: '2025-11-20T23:06:40' })),
  poison('a day that is none', 'invalid-message', reason({ startTime: '2025-02-30T00:00:00Z' })),
  poison('half a second', 'invalid-message', reason({ startTime: 1763680000.5 })),
  poison('a start before 1970', 'invalid-message', reason({ startTime: -1 })),
  poison('an object as end', 'invalid-message', reason({ endTime: {} })),
  poison('a start in the year 3000', 'start-in-future', reason({ startTime: 32503680000 })),
  poison('no reason', 'invalid-message', reason({ reasonId: '' })),
  poison('two different reasons', 'invalid-message', reason({ reason: '23' })),
  poison('a number as reason', 'invalid-message', reason({ reasonId: 22 })),
];
