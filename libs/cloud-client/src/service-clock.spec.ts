import fc from 'fast-check';
import { Clock, realEpochMs } from '#libs/clock';
import { client, connect, service } from '../test/stubbed-client.js';
import { ServiceClock } from './service-clock.js';

const START_MS = 1_763_680_000_000;

describe('ServiceClock', () => {
  /** Answers of a service `aheadMs` ahead of us, `everyMs` apart, each `callMs` after its request. */
  const answers = (
    clock: ServiceClock,
    count: number,
    { aheadMs = 0, callMs = 40, everyMs = 1300, fromMs = START_MS } = {},
  ): number => {
    for (let index = 0; index < count; index += 1) {
      const sentMs = fromMs + index * everyMs;
      clock.observeDate(dateOf(sentMs + callMs / 2 + aheadMs), sentMs, sentMs + callMs);
    }
    return fromMs + count * everyMs;
  };

  it.each([-30_000, -2000, -300, 0, 300, 2000, 30_000])(
    'measures a clock that is %d ms ahead',
    (aheadMs) => {
      const clock = new ServiceClock();
      const nowMs = answers(clock, 15, { aheadMs });
      const { offsetMs } = clock.offsetAt(nowMs)!;
      expect(Math.abs(offsetMs - aheadMs)).toBeLessThan(200);
    },
  );

  it('is never further off than its error, wherever in its call an answer was dated', () => {
    const call = fc.record({
      waitMs: fc.integer({ min: 0, max: 20_000 }),
      thereMs: fc.integer({ min: 0, max: 5000 }),
      backMs: fc.integer({ min: 0, max: 5000 }),
    });
    fc.assert(
      fc.property(
        fc.integer({ min: -3_600_000, max: 3_600_000 }),
        fc.array(call, { minLength: 1, maxLength: 40 }),
        (aheadMs, calls) => {
          const clock = new ServiceClock();
          let nowMs = START_MS;
          for (const { waitMs, thereMs, backMs } of calls) {
            const sentMs = nowMs + waitMs;
            const datedMs = sentMs + thereMs;
            nowMs = datedMs + backMs;
            clock.observeDate(dateOf(datedMs + aheadMs), sentMs, nowMs);
          }
          const { offsetMs, errorMs } = clock.offsetAt(nowMs)!;
          expect(Math.abs(offsetMs - aheadMs)).toBeLessThanOrEqual(errorMs);
        },
      ),
    );
  });

  it('is not moved by one odd answer', () => {
    const clock = new ServiceClock();
    let nowMs = answers(clock, 2, { aheadMs: 2000 });
    nowMs = answers(clock, 1, { aheadMs: -3_600_000, fromMs: nowMs });
    nowMs = answers(clock, 2, { aheadMs: 2000, fromMs: nowMs });
    expect(Math.abs(clock.offsetAt(nowMs)!.offsetMs - 2000)).toBeLessThan(600);
  });

  it('follows a clock that is set', () => {
    const clock = new ServiceClock();
    let nowMs = answers(clock, 15, { aheadMs: -30_000 });
    nowMs = answers(clock, 9, { fromMs: nowMs });
    expect(Math.abs(clock.offsetAt(nowMs)!.offsetMs)).toBeLessThan(600);
  });

  it('starts over when our own clock is set back', () => {
    const clock = new ServiceClock();
    answers(clock, 15);
    const nowMs = answers(clock, 1, { aheadMs: 7_200_000, fromMs: START_MS - 7_200_000 });
    expect(Math.abs(clock.offsetAt(nowMs)!.offsetMs - 7_200_000)).toBeLessThan(600);
  });

  it('is unknown without a date, with a nonsensical one, and after ten minutes', () => {
    const clock = new ServiceClock();
    clock.observeDate(undefined, START_MS, START_MS + 1);
    clock.observeDate('yesterday', START_MS + 1000, START_MS + 1001);
    clock.observeDate(dateOf(0), START_MS + 2000, START_MS + 2001);
    expect(clock.offsetAt(START_MS + 3000)).toBeUndefined();
    const nowMs = answers(clock, 1, { fromMs: START_MS + 3000 });
    expect(clock.offsetAt(nowMs)).toBeDefined();
    expect(clock.offsetAt(nowMs + 601_000)).toBeUndefined();
  });
});

describe('the clock of a service beside an accelerated one', () => {
  const clock = new Clock({ speed: 60, originSeconds: realEpochMs() / 1000 - 60 });

  it('is unknown by dates in real time', async () => {
    const accelerated = connect({ clock });
    await accelerated.getMachineInfo();
    expect(accelerated.clockOffset).toBeUndefined();
    await client.getMachineInfo();
    expect(client.clockOffset).toBeDefined();
  });

  it('is known by dates that are accelerated too', async () => {
    service.answers((_, response) => {
      response.writeHead(200, { date: dateOf(clock.nowMs() - 30_000) }).end('[]');
    });
    const accelerated = connect({ clock });
    await accelerated.getMachineInfo();
    const { offsetMs, errorMs } = accelerated.clockOffset!;
    expect(Math.abs(offsetMs + 30_000)).toBeLessThanOrEqual(errorMs);
  });
});

/** A date as a server writes it, cut to the second. */
function dateOf(epochMs: number): string {
  return new Date(epochMs).toUTCString();
}
