import fc from 'fast-check';
import type { ActivityLogEntry } from '#libs/cloud-client';
import { MACHINE_STATES, type StateChanged } from '#libs/contracts';
import { booksTime, expectContinuous, latestVersions } from './testing/folded-stream.js';
import { MINUTE, SimulatedService } from './testing/simulated-service.js';
import { stories } from './testing/stories.js';
import { type Poll, WatchedMachine } from './testing/watched-machine.js';

const RUNS = 60 * Number(process.env.PROPERTY_DEPTH ?? 1);
const HOUR = 3600;
const YEAR = 365 * 24 * HOUR;

const mostly = <T>(usual: T, ...others: T[]): fc.Arbitrary<T> =>
  fc.oneof({ weight: 4, arbitrary: fc.constant(usual) }, fc.constantFrom(...others));

/** Oddities of the answers to one poll. */
interface Oddity {
  updateAheadSeconds: number;
  clockStepSeconds: number;
  /** The log lacks every row whose number is a multiple of this. */
  logLacksEach: number;
  isLogRepeated: boolean;
  hasEmptyRows: boolean;
  /** How much longer each row of the log is than it should be. */
  rowsLongerBySeconds: number;
  /** An answer for another machine, from a cache. */
  ofAnother: 'nothing' | 'state' | 'log' | 'both';
}

const oddities = fc.array(
  fc.record<Oddity>({
    updateAheadSeconds: mostly(0, 30, 90, 299, 301, 700, HOUR, YEAR, -30, -90, -700, -YEAR),
    clockStepSeconds: mostly(0, 0, 1, 59, 299, 301, HOUR, YEAR, -1, -59, -301, -HOUR, -YEAR),
    logLacksEach: mostly(Infinity, 1, 2, 3),
    isLogRepeated: fc.boolean(),
    hasEmptyRows: fc.boolean(),
    rowsLongerBySeconds: mostly(0, 1, MINUTE, 7 * MINUTE, HOUR),
    ofAnother: mostly('nothing', 'state', 'log', 'both'),
  }),
  { minLength: 1, maxLength: 20 },
);

/** How far, and when, the service's clock is set. */
const clockSettings = fc.array(
  fc.record({
    minute: fc.nat(200),
    seconds: fc.constantFrom(1, 60, 299, 301, HOUR, -1, -60, -300, -HOUR),
  }),
  { maxLength: 3 },
);

function garbledLog(entries: ActivityLogEntry[], odd: Oddity): ActivityLogEntry[] {
  return entries
    .filter((_, at) => (at + 1) % odd.logLacksEach !== 0)
    .flatMap((entry, at) => {
      const { startTime, endTime } = entry;
      const state = MACHINE_STATES[at % MACHINE_STATES.length] ?? entry.state;
      const longer = { ...entry, endTime: endTime + odd.rowsLongerBySeconds };
      return [
        ...(odd.hasEmptyRows ? [{ ...entry, state, endTime: startTime }] : []),
        ...(odd.isLogRepeated ? [entry] : []),
        longer,
      ];
    });
}

/** Rows that book time before the end of the time that another row books. */
function bookedTwice(rows: readonly StateChanged[]): StateChanged[] {
  const booked = rows
    .filter((it) => it.previousState !== null && booksTime(it))
    .sort((a, b) => (a.previousStartTime ?? 0) - (b.previousStartTime ?? 0));
  return booked.filter(({ previousStartTime }, at) => {
    const before = booked[at - 1];
    return (
      before !== undefined &&
      (previousStartTime ?? 0) < (before.previousEndTime ?? before.startTime)
    );
  });
}

/** Guarantees of every stream: subscribers can rely on them, however odd the answers are. */
describe('the published stream of a service whose clock is set and whose answers are odd', () => {
  it('is in order, books no time twice and changes nothing that is settled', async () => {
    await fc.assert(
      fc.asyncProperty(
        stories,
        stories,
        oddities,
        clockSettings,
        async (story, another, odd, set) => {
          const { timeline, mistakes, update, options } = story;
          const { settleSeconds } = options;
          const service = new SimulatedService(timeline, mistakes, update, settleSeconds, set);
          const others = new SimulatedService(another.timeline, [], another.update, settleSeconds);
          const garbled = (poll: Poll, oddity: Oddity): Poll => {
            const { ofAnother, updateAheadSeconds, clockStepSeconds } = oddity;
            const isStateOfAnother = ofAnother === 'state' || ofAnother === 'both';
            const isLogOfAnother = ofAnother === 'log' || ofAnother === 'both';
            return {
              ...poll,
              clockStepSeconds,
              garble: {
                state: (own) => {
                  const reading = (isStateOfAnother ? others.reading(poll) : null) ?? own;
                  const lastUpdateTime = reading.lastUpdateTime + updateAheadSeconds;
                  return { ...reading, lastUpdateTime };
                },
                log: (own) => garbledLog(isLogOfAnother ? others.log(0, poll) : own, oddity),
              },
            };
          };
          const machine = new WatchedMachine(service, options);
          let settled: StateChanged[] = [];
          let settledUntil = -Infinity;
          for (const [at, poll] of story.polls.entries()) {
            const oddity = odd[at % odd.length];
            await machine.poll(oddity === undefined ? poll : garbled(poll, oddity));
            const rows = latestVersions(machine.events);
            expect(bookedTwice(rows)).toEqual([]);
            const finished = rows.filter(booksTime);
            expect(finished.filter(({ startTime }) => startTime < settledUntil)).toEqual(settled);
            settledUntil = Math.max(settledUntil, machine.record?.settledUntil ?? -Infinity);
            settled = finished.filter(({ startTime }) => startTime < settledUntil);
          }
          expectContinuous(machine.events, machine.record);
        },
      ),
      { numRuns: RUNS },
    );
  });
});
