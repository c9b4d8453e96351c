import { jest } from '@jest/globals';
import { ManualClock, onAbort, realNowMs } from '#libs/clock';
import { type CallPermit, CallSlots } from '#libs/delivery';
import { unpausedFlows } from '../flow-control/testing/unpaused-flows.js';
import { FlowHold } from '../flow-control/index.js';
import {
  type Admission,
  type CallAnswer,
  type Command,
  type CommandResult,
  type CommandWaiter,
  type DispatcherOptions,
  GO,
  MessageResults,
  type Precedence,
} from './command.js';
import type { BatchLimits } from './lane-queue.js';
import { CommandDispatcher } from './command-dispatcher.js';
import { inboundMessage, targetOf } from './testing/inbound-message.js';
import type { ServiceAnswer } from './verdict.js';
import { CallPace } from './service-caller.js';

const APPLIED_AT = 1_763_680_000;
const AN_HOUR_MS = 3_600_000;
/** The shortest wait for a probe, which is longer than the shortest back-off. */
const PROBE_WAIT_MS = 200;
const LINGER_MS = 20;

const applied: ServiceAnswer = { kind: 'data' };
const away: ServiceAnswer = { kind: 'retry', afterMs: null, error: new Error('HTTP 503') };
const refused: ServiceAnswer = { kind: 'rejected', status: 422, detail: 'not of this plant' };
/** A status that the interface does not list. */
const notFound: ServiceAnswer = { kind: 'rejected', status: 404, detail: 'HTTP 404' };
const noToken: ServiceAnswer = { kind: 'unauthorised', status: 401 };
const noRight: ServiceAnswer = { kind: 'unauthorised', status: 403 };
const noInfo: Admission = { kind: 'unavailable', why: 'getMachineInfo: HTTP 503', afterMs: null };
const stopping = new Error('the partition is lost');

function awayFor(afterMs: number): ServiceAnswer {
  return { kind: 'retry', afterMs, error: new Error('HTTP 429') };
}

const pass = (ms = 5): Promise<void> => jest.advanceTimersByTimeAsync(ms);

/** A message with a command for one machine, its results and how it ended. */
interface Delivered {
  readonly results: CommandResult[];
  readonly ends: ('finished' | 'abandoned' | Error)[];
}

type Reply = (answer: ServiceAnswer | Error) => void;

/** A flow with a service that answers as the test says. Commands have names like `mill1`: machine and number. */
class Flow {
  /** The names of the commands of each call. */
  readonly calls: string[][] = [];
  readonly ownership = new AbortController();
  readonly deferred: CommandWaiter[] = [];
  readonly dispatcher: CommandDispatcher<string>;
  readonly slots: CallSlots;
  /** The service's answer to a call; if undefined, the call hangs until {@link reply}. */
  service: (names: readonly string[]) => CallAnswer | undefined = () => applied;
  /** The service's answer to an empty call. */
  empty: ServiceAnswer = refused;
  emptyCalls = 0;
  admit: (name: string) => Admission | Promise<Admission> = () => GO;
  /** A promise that a call waits for before it is sent. */
  connected: Promise<void> | undefined;
  private readonly bytesOf = new Map<string, number>();
  private readonly hanging: { names: string[]; reply: Reply }[] = [];

  constructor(options: Partial<DispatcherOptions<string>>) {
    this.slots = options.slots ?? new CallSlots(64);
    this.dispatcher = new CommandDispatcher({
      flow: 'work-orders',
      hold: unpausedFlows().holdOf('work-orders'),
      clock: new ManualClock(APPLIED_AT * 1000),
      slots: this.slots,
      limits: { maxMachines: 1, maxBytes: Infinity },
      sizeOf: (name) => this.bytesOf.get(name)!,
      lingerMs: 0,
      deferredAfterMs: AN_HOUR_MS,
      admit: ({ payload }) => this.admit(payload),
      call: (commands, permit) => this.call(commands, permit),
      callEmpty: () => {
        this.emptyCalls += 1;
        return Promise.resolve(this.empty);
      },
      onDeferred: (waiter) => this.deferred.push(waiter),
      ...options,
    });
  }

  get left(): object {
    const { busyMachines, waiting, waiters } = this.dispatcher;
    return { busyMachines, waiting, waiters: waiters.size, underWay: this.slots.underWay };
  }

  /** Calls that the service has not answered, by the names of their commands. */
  get underWay(): string[][] {
    return this.hanging.map(({ names }) => names);
  }

  submit(name: string, { ownership = this.ownership, bytes = 1 } = {}): Delivered {
    const delivered: Delivered = { results: [], ends: [] };
    const message = inboundMessage({
      ...{ bytes, revoked: ownership.signal },
      finish: () => delivered.ends.push('finished'),
      abandon: () => delivered.ends.push('abandoned'),
      fail: (error: unknown) => delivered.ends.push(error as Error),
    });
    const collected = new MessageResults(targetOf(message), 1, (_, results) => {
      delivered.results.push(...results);
      return [];
    });
    const machineId = machineOf(name);
    this.bytesOf.set(name, bytes);
    this.dispatcher.submitCommand(machineId, name, collected);
    return delivered;
  }

  /** Submits the commands and waits until they have lingered. */
  async submitAll(...names: string[]): Promise<Delivered[]> {
    const delivered = names.map((name) => this.submit(name));
    await pass(LINGER_MS);
    return delivered;
  }

  /** Answers, or breaks off, the call that includes the command. */
  async reply(name: string, answer: ServiceAnswer | Error, thenMs?: number): Promise<void> {
    const call = this.hanging.find(({ names }) => names.includes(name));
    if (call === undefined) throw new Error(`no call for ${name} is under way`);
    call.reply(answer);
    await pass(thenMs);
  }

  private async call(
    commands: readonly Command<string>[],
    { signal, objection }: CallPermit,
  ): Promise<ServiceAnswer> {
    const names = commands.map(({ payload }) => payload);
    if (this.connected !== undefined) await this.connected;
    const objected = objection();
    if (objected !== undefined) throw objected;
    this.calls.push(names);
    const answer = this.service(names);
    if (answer !== undefined) return answer;
    return new Promise((resolve, reject) => {
      const reply: Reply = (result) => {
        this.hanging.splice(this.hanging.indexOf(call), 1);
        leave();
        if (result instanceof Error) reject(result);
        else resolve(result);
      };
      const call = { names, reply };
      this.hanging.push(call);
      const leave = onAbort(signal, () => reply(signal.reason as Error));
    });
  }
}

function machineOf(name: string): string {
  return name.replace(/\d+$/, '');
}

function sharedCalls(
  limits: Partial<BatchLimits> = {},
  precedence: () => Precedence = () => 'newer',
): Partial<DispatcherOptions<string>> {
  return {
    limits: { maxMachines: 8, maxBytes: 10_000, ...limits },
    lingerMs: LINGER_MS,
    precedence,
  };
}

const SINGLE_CALLS: Partial<DispatcherOptions<string>> = {};
const NOTHING = { busyMachines: 0, waiting: 0, waiters: 0, underWay: 0 };
const BY_CALLS: [string, Partial<DispatcherOptions<string>>][] = [
  ['a call for each command', SINGLE_CALLS],
  ['shared calls', sharedCalls()],
];
const EIGHT = ['a1', 'b1', 'c1', 'd1', 'e1', 'f1', 'g1', 'h1'];
const hang = (): undefined => undefined;

/** A promise that the test settles. */
function pending<T>(): { promise: Promise<T>; resolve: (value: T) => void } {
  let resolve: (value: T) => void = () => undefined;
  const promise = new Promise<T>((settle) => (resolve = settle));
  return { promise, resolve };
}

/** Rejects like a look-up for a message whose partition is revoked. */
function untilLost(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => onAbort(signal, () => reject(signal.reason as Error)));
}

/** Delays these commands until their time. */
function dueIn(ms: number, ...names: string[]): (name: string) => Admission {
  const dueMs = realNowMs() + ms;
  return (name) => {
    const waitMs = dueMs - realNowMs();
    return names.includes(name) && waitMs > 0 ? { kind: 'not-yet', waitMs } : GO;
  };
}

describe('CommandDispatcher', () => {
  beforeEach(() => {
    jest.useFakeTimers({ doNotFake: ['Date', 'nextTick', 'queueMicrotask', 'setImmediate'] });
    jest.spyOn(Math, 'random').mockReturnValue(0);
  });

  afterEach(() => {
    jest.useRealTimers();
  });

  describe.each(BY_CALLS)('with %s', (_, options) => {
    let flow: Flow;

    beforeEach(() => {
      flow = new Flow(options);
    });

    it.each(['data', 'noData'] as const)(
      'treats %s as applied, dates it by the clock of the plant, and is idle afterwards',
      async (kind) => {
        flow.service = () => ({ kind });
        const [only] = await flow.submitAll('mill1');
        const result = { kind: 'applied', machineId: 'mill', attempts: 1, appliedAt: APPLIED_AT };
        expect(only).toEqual({ results: [result], ends: ['finished'] });
        expect(flow.left).toEqual(NOTHING);
      },
    );

    it('calls until the service has taken the command', async () => {
      const answers = [away, noRight, away];
      flow.service = () => answers.shift() ?? applied;
      const [mill] = await flow.submitAll('mill1');
      await pass(100);
      expect(mill).toMatchObject({ results: [{ kind: 'applied', attempts: 4 }] });
      expect(flow.dispatcher.caller.retries).toMatchObject({
        service: 2,
        'token-refused': 0,
        forbidden: 1,
        'unlisted-status': 0,
      });
    });

    it('lets only the machine wait for its Retry-After, without a slot', async () => {
      flow = new Flow({ ...options, slots: new CallSlots(1) });
      const calledMs: number[] = [];
      flow.service = ([name]) => {
        if (name !== 'mill1') return applied;
        calledMs.push(realNowMs());
        return calledMs.length === 1 ? awayFor(900) : applied;
      };
      await flow.submitAll('mill1');
      const [lathe] = await flow.submitAll('lathe1');
      expect(lathe).toMatchObject({ ends: ['finished'] });
      await pass(1000);
      const [first = 0, second = 0] = calledMs;
      expect(second - first).toBeGreaterThanOrEqual(900);
      expect(second - first).toBeLessThan(910);
    });

    it('rejects a command that is refused alone', async () => {
      flow.service = ([name]) => (name === 'mill1' ? refused : applied);
      const [mill] = await flow.submitAll('mill1');
      const [next] = await flow.submitAll('mill2');
      const rejection = { code: 'rejected-by-service', detail: 'not of this plant' };
      const result = {
        kind: 'rejected',
        machineId: 'mill',
        attempts: 1,
        rejection,
        httpStatus: 422,
      };
      expect(mill).toEqual({ results: [result], ends: ['finished'] });
      expect(next).toMatchObject({ results: [{ kind: 'applied' }] });
      expect(flow.calls).toEqual([['mill1'], ['mill2']]);
    });

    it('sends its commands again when a call throws', async () => {
      flow.service = () => {
        if (flow.calls.length === 1) throw new Error('a defect');
        return flow.calls.length === 2 ? undefined : applied;
      };
      const [mill] = await flow.submitAll('mill1');
      await pass();
      await flow.reply('mill1', new Error('another defect'));
      expect(mill).toMatchObject({
        results: [{ kind: 'applied', attempts: 3 }],
        ends: ['finished'],
      });
    });

    it('handles the message of a call again that a bug keeps from being concluded', async () => {
      const bug = new Error('a bug');
      const retryRefused = (): never => {
        throw bug;
      };
      flow = new Flow({ ...options, retryRefused });
      flow.service = () => refused;
      const [mill] = await flow.submitAll('mill1');
      expect(mill).toEqual({ results: [], ends: [bug] });
      expect(flow.left).toEqual(NOTHING);
    });

    it('defers a command once, none that is final in time, and stops its timer while no command waits', async () => {
      flow = new Flow({ ...options, deferredAfterMs: 3000 });
      flow.service = ([name]) => (name === 'mill1' ? awayFor(1400) : applied);
      await flow.submitAll('lathe1');
      await pass(10_000);
      expect(jest.getTimerCount()).toBe(0);
      await flow.submitAll('mill1');
      await pass(2900);
      expect(flow.deferred).toEqual([]);
      await pass(10_000);
      expect(flow.deferred).toMatchObject([{ machineId: 'mill' }]);
    });

    describe('admission', () => {
      const unknown = { code: 'unknown-machine', detail: 'no mill' } as const;

      const atOnce = (admission: Admission): Admission => admission;
      const byLookUp = (admission: Admission): Promise<Admission> => Promise.resolve(admission);

      describe.each([
        ['without a look-up', atOnce],
        ['by a look-up', byLookUp],
      ])('%s', (__, answer) => {
        it.each<Admission & { kind: 'rejected' | 'superseded' }>([
          { kind: 'rejected', rejection: unknown },
          { kind: 'superseded', detail: 'a newer one is applied' },
        ])('ends a $kind command without a call', async (admission) => {
          flow.admit = () => answer(admission);
          const [mill] = await flow.submitAll('mill1');
          const result = { machineId: 'mill', attempts: 0, ...admission };
          expect(mill).toEqual({ results: [result], ends: ['finished'] });
          expect(flow.calls).toEqual([]);
          expect(flow.dispatcher.busyMachines).toBe(0);
        });

        it('delays a command until its time, and checks it again then', async () => {
          const admission = dueIn(500, 'mill1');
          flow.admit = (name) => answer(admission(name));
          const [mill, lathe] = await flow.submitAll('mill1', 'lathe1');
          await pass(480 - LINGER_MS);
          expect(mill).toMatchObject({ ends: [] });
          expect(lathe).toMatchObject({ ends: ['finished'] });
          await pass(30);
          expect(mill).toMatchObject({ results: [{ kind: 'applied', attempts: 1 }] });
          expect(flow.dispatcher.caller.retries.service).toBe(0);
        });

        it.each([
          ['longer from time to time', null, [200, 400, 800, 1600]],
          ['as long as it was asked to wait', 25_000, [25_000, 25_000]],
        ])('waits %s while the look-up fails', async (__, afterMs, waitsMs) => {
          jest.spyOn(Math, 'random').mockReturnValue(1);
          const askedMs: number[] = [];
          flow.admit = () => {
            askedMs.push(realNowMs());
            return answer({ ...noInfo, afterMs });
          };
          await flow.submitAll('mill1');
          await pass(waitsMs.reduce((sum, ms) => sum + ms, 100));
          expect(askedMs).toHaveLength(waitsMs.length + 1);
          waitsMs.forEach((ms, index) => {
            expect(askedMs[index + 1]! - askedMs[index]!).toBeGreaterThanOrEqual(ms);
          });
        });

        it('does not delay other machines by the Retry-After of a look-up', async () => {
          flow.admit = (name) => answer(name === 'good1' ? GO : { ...noInfo, afterMs: AN_HOUR_MS });
          await flow.submitAll('a1', 'b1', 'c1', 'd1', 'e1');
          expect(flow.dispatcher.status.breaker.openBecause).toBe('getMachineInfo: HTTP 503');
          const [good] = await flow.submitAll('good1');
          await pass(5000);
          expect(good).toMatchObject({ results: [{ kind: 'applied', attempts: 1 }] });
          expect(flow.dispatcher.status.breaker.isOpen).toBe(false);
        });

        it('does not count look-ups as calls, neither in outcomes nor in the back-off', async () => {
          jest.spyOn(Math, 'random').mockReturnValue(1);
          flow = new Flow({ ...options, deferredAfterMs: 1000 });
          let asked = 0;
          flow.admit = () => answer((asked += 1) < 5 ? noInfo : GO);
          const calledMs: number[] = [];
          flow.service = () => {
            calledMs.push(realNowMs());
            return calledMs.length > 1 ? applied : away;
          };
          const lathe = flow.submit('lathe1');
          await pass(2000);
          expect(flow.deferred).toMatchObject([{ machineId: 'lathe', callsMade: 0 }]);
          await pass(60_000);
          expect(lathe).toMatchObject({ results: [{ kind: 'applied', attempts: 2 }] });
          expect(calledMs[1]! - calledMs[0]!).toBeLessThanOrEqual(1000);
        });

        it('handles a message again after a bug of the bridge', async () => {
          const bug = new Error('a bug');
          flow.admit = (name) => {
            if (name !== 'mill1') return answer(GO);
            const failing = answer(GO);
            if (failing instanceof Promise) return Promise.reject(bug);
            throw bug;
          };
          const [mill, lathe] = await flow.submitAll('mill1', 'lathe1');
          const [next] = await flow.submitAll('mill2');
          expect(mill).toEqual({ results: [], ends: [bug] });
          for (const other of [lathe, next]) expect(other).toMatchObject({ ends: ['finished'] });
          expect(flow.slots.underWay).toBe(0);
        });

        it('publishes one result for each machine of such a message', async () => {
          const results: CommandResult[] = [];
          let failures = 0;
          const message = inboundMessage({
            fail: () => {
              failures += 1;
              handle();
            },
          });
          const handle = (): void => {
            const items = [0, 1].filter((item) => !message.isItemDone(item));
            const collected = new MessageResults(targetOf(message), items.length, (__, found) => {
              results.push(...found);
              return [];
            });
            for (const item of items) {
              const name = ['mill1', 'lathe1'][item]!;
              flow.dispatcher.submitCommand(machineOf(name), name, collected, item);
            }
          };
          flow.admit = (name) => {
            if (name === 'mill1' && failures === 0) throw new Error('a bug');
            return answer(GO);
          };
          flow.service = (names) => (names.includes('lathe1') ? undefined : applied);
          handle();
          await pass(100);
          while (flow.underWay.length > 0) await flow.reply('lathe1', applied, 100);
          expect(results).toMatchObject([
            { machineId: 'lathe', kind: 'applied' },
            { machineId: 'mill', kind: 'applied' },
          ]);
          expect({ failures, ends: message.ends }).toEqual({ failures: 1, ends: ['finished'] });
        });
      });

      it('checks a command once before each call', async () => {
        let asked = 0;
        flow.service = () => (flow.calls.length < 3 ? away : applied);
        flow.admit = () => Promise.resolve(GO).finally(() => (asked += 1));
        await flow.submitAll('mill1');
        await pass(100);
        expect({ asked, calls: flow.calls.length }).toEqual({ asked: 3, calls: 3 });
      });

      it('lets only the machine wait that is looked up, without a slot', async () => {
        flow = new Flow({ ...options, slots: new CallSlots(1) });
        const lookUp = pending<Admission>();
        flow.admit = (name) => (machineOf(name) === 'mill' ? lookUp.promise : GO);
        const [mill, lathe] = await flow.submitAll('mill1', 'lathe1');
        const [press] = await flow.submitAll('press1');
        for (const other of [lathe, press]) expect(other).toMatchObject({ ends: ['finished'] });
        expect(flow.dispatcher.busyMachines).toBe(1);
        expect(flow.slots.underWay).toBe(0);
        lookUp.resolve(GO);
        await pass();
        expect(mill).toMatchObject({ ends: ['finished'] });
      });

      it.each([
        ['is aborted', (lost: Promise<never>) => lost],
        ['finds the machine all the same', (lost: Promise<never>) => lost.catch(() => GO)],
      ])('makes no call when the partition is lost and the look-up %s', async (__, lookUp) => {
        const lost = untilLost(flow.ownership.signal);
        flow.admit = () => lookUp(lost);
        const [mill] = await flow.submitAll('mill1');
        flow.ownership.abort(stopping);
        await pass();
        expect(mill).toEqual({ results: [], ends: ['abandoned'] });
        expect(flow.calls).toEqual([]);
        expect(flow.dispatcher.busyMachines).toBe(0);
      });
    });

    describe('when partitions are revoked', () => {
      it('abandons waiting commands at once, and does not send them', async () => {
        flow = new Flow({ ...options, slots: new CallSlots(1) });
        flow.service = hang;
        await flow.submitAll('mill1');
        const elsewhere = new AbortController();
        const lost = [
          flow.submit('mill2', { ownership: elsewhere }),
          flow.submit('lathe1', { ownership: elsewhere }),
        ];
        await pass(LINGER_MS);
        elsewhere.abort(stopping);
        for (const it of lost) expect(it).toEqual({ results: [], ends: ['abandoned'] });
        const late = flow.submit('press1', { ownership: elsewhere });
        expect(late).toEqual({ results: [], ends: ['abandoned'] });
        await flow.reply('mill1', applied);
        expect(flow.calls).toEqual([['mill1']]);
        expect(flow.left).toEqual(NOTHING);
      });

      it.each([
        ['taken', applied],
        ['refused', refused],
      ])('ends a call under way once it is %s, and makes no other', async (kind, answer) => {
        flow.service = hang;
        const [mill] = await flow.submitAll('mill1');
        const [next] = await flow.submitAll('mill2');
        expect(flow.left).toMatchObject({ busyMachines: 1, waiting: 1 });
        flow.ownership.abort(stopping);
        expect(mill).toEqual({ results: [], ends: [] });
        await flow.reply('mill1', answer);
        const result = { kind: kind === 'taken' ? 'applied' : 'rejected', attempts: 1 };
        expect(mill).toMatchObject({ results: [result], ends: ['finished'] });
        expect(next).toEqual({ results: [], ends: ['abandoned'] });
        expect(flow.calls).toEqual([['mill1']]);
      });

      it('does not send a call that still waits for a connection', async () => {
        const connection = pending<undefined>();
        flow.connected = connection.promise;
        const [mill] = await flow.submitAll('mill1');
        flow.ownership.abort(stopping);
        connection.resolve(undefined);
        await pass(AN_HOUR_MS);
        expect(flow.calls).toEqual([]);
        expect(mill).toEqual({ results: [], ends: ['abandoned'] });
        expect(flow.dispatcher.busyMachines).toBe(0);
      });
    });

    describe('while the slots are paused', () => {
      it('begins no call, and begins them when resumed', async () => {
        flow.slots.pauseCalls();
        const [mill] = await flow.submitAll('mill1');
        await pass(AN_HOUR_MS);
        expect(flow.calls).toEqual([]);
        flow.slots.resumeCalls();
        await pass();
        expect(mill).toMatchObject({ ends: ['finished'] });
      });

      it('does not send a call that had its slot and waits for a connection', async () => {
        const connection = pending<undefined>();
        flow.connected = connection.promise;
        const [mill] = await flow.submitAll('mill1');
        flow.slots.pauseCalls();
        connection.resolve(undefined);
        await pass(AN_HOUR_MS);
        expect(flow.calls).toEqual([]);
        expect(flow.slots.underWay).toBe(0);
        expect(flow.dispatcher.caller.retries.service).toBe(0);
        flow.slots.resumeCalls();
        await pass();
        expect(flow.calls).toEqual([['mill1']]);
        // The call that was not sent does not count.
        expect(mill).toMatchObject({ results: [{ attempts: 1 }], ends: ['finished'] });
      });

      it('repeats a call that was cut off, without counting a failure', async () => {
        flow.service = hang;
        const delivered = await flow.submitAll(...EIGHT);
        const before = flow.underWay;
        flow.slots.pauseCalls();
        flow.slots.cutOffCalls(new Error('the partitions may be lost'));
        await pass(AN_HOUR_MS);
        expect(flow.underWay).toEqual([]);
        const { caller, status } = flow.dispatcher;
        expect(Object.values(caller.retries)).toEqual([0, 0, 0, 0, 0]);
        expect(status.breaker.openBecause).toBeUndefined();
        flow.slots.resumeCalls();
        await pass();
        expect(flow.underWay).toEqual(before);
        for (const name of EIGHT.filter((__, index) => index < before.length)) {
          await flow.reply(name, applied);
        }
        for (const { ends } of delivered) expect(ends).toEqual(['finished']);
        // The service may have carried out the first call.
        expect(delivered[0]).toMatchObject({ results: [{ attempts: 2 }] });
      });
    });

    it('passes on what the call returns for each list', async () => {
      const record = { topic: 'fences', key: 'mill', value: '20', headers: {} };
      const list = { workingOrders: ['4711'], records: [record] };
      flow.service = () => ({ kind: 'data', lists: [list] });
      const [mill] = await flow.submitAll('mill1');
      const result = { kind: 'applied', attempts: 1, appliedAt: APPLIED_AT, ...list };
      expect(mill).toMatchObject({ results: [result], ends: ['finished'] });
    });

    it('delivers the commands of good machines although many others fail', async () => {
      jest.spyOn(Math, 'random').mockReturnValue(0.5);
      const machine = (letter: string, index: number): string => `${letter.repeat(index + 1)}1`;
      const bad = Array.from({ length: 40 }, (_, index) => machine('b', index));
      const good = Array.from({ length: 40 }, (_, index) => machine('g', index));
      flow.service = (names) => (names.some((name) => name.startsWith('b')) ? away : applied);
      for (const name of bad) flow.submit(name);
      await pass(1000);
      const delivered = good.map((name) => flow.submit(name));
      for (let wait = 0; wait < 600; wait += 1) await pass(10);
      expect(delivered.filter(({ ends }) => ends.length === 0)).toEqual([]);
    });
  });

  describe('with a call for each command', () => {
    let flow: Flow;

    beforeEach(() => {
      flow = new Flow(SINGLE_CALLS);
    });

    it('calls for a machine that becomes ready between two readings of the clock', async () => {
      const now = performance.now.bind(performance);
      let looks = 0;
      // Time passes while the dispatcher decides: one of these back-offs ends between two readings.
      jest.spyOn(performance, 'now').mockImplementation(() => now() + (looks += 1) * 0.7);
      for (let step = 1; step <= 40; step += 1) {
        jest.spyOn(Math, 'random').mockReturnValue(step * 0.002_5);
        const answers = [applied, away];
        flow.service = () => answers.pop();
        const delivered = flow.submit(`${'m'.repeat(step)}1`);
        for (let wait = 0; wait < 60; wait += 1) await pass(1);
        expect(delivered.ends).toEqual(['finished']);
      }
    });

    it("sends all of a machine's commands in order, whatever their results", async () => {
      const answers = [away, away, refused, applied, away, applied];
      flow.service = () => answers.shift();
      const delivered = ['mill1', 'mill2', 'mill3'].map((name) => flow.submit(name));
      await pass(100);
      expect(flow.calls.flat()).toEqual(['mill1', 'mill1', 'mill1', 'mill2', 'mill3', 'mill3']);
      expect(delivered.map(({ results }) => results[0]?.kind)).toEqual([
        'rejected',
        'applied',
        'applied',
      ]);
    });

    it('keeps the commands behind one that is not due, and defers both only after its time', async () => {
      flow = new Flow({ deferredAfterMs: 3000 });
      flow.service = () => awayFor(500);
      flow.admit = dueIn(2000, 'mill1');
      for (const name of ['mill1', 'mill2', 'lathe1']) flow.submit(name);
      await pass(1990);
      expect(new Set(flow.calls.flat())).toEqual(new Set(['lathe1']));
      await pass(20);
      expect(new Set(flow.calls.flat())).toEqual(new Set(['lathe1', 'mill1']));
      await pass(2890);
      expect(flow.deferred.map(({ machineId }) => machineId)).toEqual(['lathe']);
      await pass(500);
      expect(flow.deferred.map(({ machineId }) => machineId)).toEqual(['lathe', 'mill', 'mill']);
      flow.service = () => applied;
      flow.calls.length = 0;
      await pass(1000);
      expect(flow.calls.flat().filter((name) => name !== 'lathe1')).toEqual(['mill1', 'mill2']);
    });

    it('calls different machines concurrently, as many as there are slots', async () => {
      flow = new Flow({ slots: new CallSlots(2) });
      flow.service = hang;
      for (const name of ['mill1', 'lathe1', 'press1', 'mill2']) flow.submit(name);
      expect(flow.underWay).toEqual([['mill1'], ['lathe1']]);
      await flow.reply('mill1', applied);
      expect(flow.underWay).toEqual([['lathe1'], ['press1']]);
      await flow.reply('lathe1', applied);
      expect(flow.underWay).toEqual([['press1'], ['mill2']]);
    });

    it('takes turns: a machine with many commands does not delay the others', async () => {
      flow = new Flow({ slots: new CallSlots(1) });
      for (const name of ['mill1', 'mill2', 'mill3', 'lathe1', 'lathe2']) flow.submit(name);
      await pass();
      expect(flow.calls.flat()).toEqual(['mill1', 'lathe1', 'mill2', 'lathe2', 'mill3']);
    });

    it('takes every slot that another flow releases', async () => {
      const slots = new CallSlots(2);
      const [other, own] = [new Flow({ slots }), new Flow({ slots })];
      for (const each of [other, own]) each.service = hang;
      for (const name of ['mill1', 'lathe1']) other.submit(name);
      for (const name of ['press1', 'saw1']) own.submit(name);
      await other.reply('mill1', applied);
      await other.reply('lathe1', applied);
      expect(own.underWay).toEqual([['press1'], ['saw1']]);
    });

    it('returns its turn if no command is left to send', async () => {
      const returnTurn = jest.fn();
      const slots = new CallSlots(64, { awaitTurn: () => Promise.resolve(), returnTurn });
      flow = new Flow({ slots });
      flow.admit = (name) =>
        name === 'mill1' ? { kind: 'superseded', detail: 'a newer one was applied' } : GO;
      flow.submit('mill1');
      await pass();
      expect([flow.calls, returnTurn.mock.calls.length]).toEqual([[], 1]);
      flow.submit('lathe1');
      await pass();
      expect([flow.calls, returnTurn.mock.calls.length]).toEqual([[['lathe1']], 1]);
    });
  });

  describe('with shared calls', () => {
    let flow: Flow;

    beforeEach(() => {
      flow = new Flow(sharedCalls());
    });

    it('lets commands linger to share a call', async () => {
      flow.submit('mill1');
      await pass(LINGER_MS - 5);
      flow.submit('lathe1');
      expect(flow.calls).toEqual([]);
      await pass();
      expect(flow.calls).toEqual([['mill1', 'lathe1']]);
    });

    it('does not wait for machines that are not due, which share a call once they are', async () => {
      flow = new Flow(sharedCalls({ maxMachines: 4 }));
      flow.admit = dueIn(1000, 'a1', 'b1', 'c1');
      await flow.submitAll('a1', 'b1', 'c1');
      flow.submit('d1');
      expect(flow.calls).toEqual([]);
      await pass(LINGER_MS);
      expect(flow.calls).toEqual([['d1']]);
      await pass(1000);
      expect(flow.calls.map((names) => names.toSorted())).toEqual([['d1'], ['a1', 'b1', 'c1']]);
    });

    it('ends the linger time when a batch is full', () => {
      for (const name of EIGHT) flow.submit(name);
      expect(flow.calls).toEqual([EIGHT]);
    });

    describe('with batches that are not full', () => {
      const names = (count: number): string[] =>
        Array.from({ length: count }, (_, index) => `${'m'.repeat(index + 1)}1`);
      const TWENTY = names(20);
      const sizes = (): number[] => flow.calls.map((names) => names.length);

      const steadily = async (options: Partial<DispatcherOptions<string>> = {}): Promise<void> => {
        flow = new Flow({ ...sharedCalls({ maxMachines: 100 }), ...options });
        for (let call = 1; call <= 10; call += 1) {
          flow.submit(`mill${call}`);
          await pass(LINGER_MS);
        }
        flow.calls.length = 0;
      };

      it.each([
        [8, [8]],
        [9, [5, 4]],
        [20, [7, 7, 6]],
        [99, [25, 25, 25, 24]],
      ])(
        'makes several calls while %i commands keep coming, so that fewer machines share one with a failing machine',
        async (count, expected) => {
          await steadily();
          await flow.submitAll(...names(count));
          expect(sizes()).toEqual(expected);
          expect(flow.calls.flat()).toEqual(names(count));
        },
      );

      it('makes one call for commands that arrive together after a pause', async () => {
        await steadily();
        await pass(1000);
        await flow.submitAll(...TWENTY);
        expect(sizes()).toEqual([20]);
      });

      it('makes one call while batches fill up', async () => {
        await steadily();
        await flow.submitAll(...names(100));
        await flow.submitAll(...names(20).map((name) => name.replace('1', '2')));
        expect(sizes()).toEqual([100, 20]);
      });

      it('sends commands without a slot together later', async () => {
        await steadily({ slots: new CallSlots(1) });
        flow.service = hang;
        await flow.submitAll(...TWENTY);
        expect(sizes()).toEqual([7]);
        await flow.reply('m1', applied);
        expect(sizes()).toEqual([7, 13]);
      });
    });

    it('keeps calls within the size limit, except for a single larger command', async () => {
      flow = new Flow(sharedCalls({ maxBytes: 100 }));
      flow.submit('mill1', { bytes: 60 });
      flow.submit('lathe1', { bytes: 40 });
      flow.submit('press1', { bytes: 1 });
      flow.submit('saw1', { bytes: 200 });
      await pass(LINGER_MS);
      expect(flow.calls).toEqual([['mill1', 'lathe1'], ['press1'], ['saw1']]);
    });

    it('chooses its batch when its turn under a rate limit comes: the newest commands of all machines', async () => {
      const turns: (() => void)[] = [];
      const awaitTurn = (): Promise<void> => new Promise((resolve) => turns.push(resolve));
      const slots = new CallSlots(64, { awaitTurn, returnTurn: jest.fn() });
      flow = new Flow({ ...sharedCalls(), lingerMs: 0, slots });
      for (const name of ['mill1', 'lathe1', 'mill2']) flow.submit(name);
      await pass();
      expect([flow.calls, turns.length]).toEqual([[], 1]);
      turns.shift()?.();
      await pass();
      expect([flow.calls, turns.length]).toEqual([[['mill2', 'lathe1']], 0]);
    });

    it('takes all slots at once when they are resumed', async () => {
      flow = new Flow(sharedCalls({ maxMachines: 2 }));
      flow.service = hang;
      flow.slots.pauseCalls();
      for (const name of EIGHT) flow.submit(name);
      flow.slots.resumeCalls();
      await pass();
      expect(flow.underWay).toHaveLength(4);
    });

    it('halves a refused call until the machine at fault is alone, and sends that one alone from then on', async () => {
      flow.service = (names) => (names.some((name) => machineOf(name) === 'c') ? refused : applied);
      const delivered = await flow.submitAll(...EIGHT);
      expect(delivered.map(({ results }) => results.map(({ kind }) => kind))).toEqual(
        EIGHT.map((name) => [name === 'c1' ? 'rejected' : 'applied']),
      );
      expect(delivered[2]?.results).toMatchObject([{ httpStatus: 422, attempts: 4 }]);
      expect(flow.calls).toHaveLength(7);
      expect(flow.dispatcher.caller.splits).toBe(3);
      expect(flow.dispatcher.busyMachines).toBe(0);
      flow.calls.length = 0;
      await flow.submitAll(...EIGHT.map((name) => name.replace('1', '2')));
      expect(flow.calls.filter((names) => names.includes('c2'))).toEqual([['c2']]);
      expect(flow.calls).toHaveLength(2);
    });

    it('halves a call that is too large at once, and rejects a command that is too large alone', async () => {
      const tooLarge: ServiceAnswer = { ...notFound, status: 413 };
      flow.service = (names) => (names.length > 2 || names.includes('c1') ? tooLarge : applied);
      const delivered = EIGHT.map((name) => flow.submit(name));
      await pass(1000);
      expect(delivered.map(({ results }) => results.map(({ kind }) => kind))).toEqual(
        EIGHT.map((name) => [name === 'c1' ? 'rejected' : 'applied']),
      );
      expect(flow.dispatcher.caller.splits).toBeGreaterThanOrEqual(3);
      expect(flow.dispatcher.status.breaker.isOpen).toBe(false);
    });

    it('sends the parts of a refused call in slots of their own, and later commands of their machines afterwards', async () => {
      flow = new Flow({ ...sharedCalls(), slots: new CallSlots(1) });
      flow.service = hang;
      await flow.submitAll('mill1', 'lathe1');
      flow.submit('lathe2');
      await flow.reply('mill1', refused);
      expect(flow.underWay).toEqual([['mill1']]);
      await flow.reply('mill1', applied);
      expect(flow.underWay).toEqual([['lathe1']]);
      await flow.reply('lathe1', applied);
      expect(flow.underWay).toEqual([['lathe2']]);
    });

    it('sends no part of a refused call whose partition is revoked', async () => {
      flow.service = hang;
      const delivered = await flow.submitAll('mill1', 'lathe1');
      flow.ownership.abort(stopping);
      await flow.reply('mill1', refused);
      for (const it of delivered) expect(it).toEqual({ results: [], ends: ['abandoned'] });
      expect(flow.calls).toHaveLength(1);
      expect(flow.dispatcher.busyMachines).toBe(0);
      expect(flow.slots.underWay).toBe(0);
    });

    it('continues without commands whose partition is revoked', async () => {
      flow.service = hang;
      const elsewhere = new AbortController();
      const mill = flow.submit('mill1', { ownership: elsewhere });
      const [lathe] = await flow.submitAll('lathe1');
      elsewhere.abort(stopping);
      await flow.reply('mill1', away);
      expect(mill).toEqual({ results: [], ends: ['abandoned'] });
      expect(flow.underWay).toEqual([['lathe1']]);
      await flow.reply('lathe1', applied);
      expect(lathe).toMatchObject({ results: [{ kind: 'applied', attempts: 2 }] });
    });

    it('splits machines whose call fails, until the one at fault delays no others', async () => {
      flow.service = (names) => (names.includes('c1') ? awayFor(10) : applied);
      const delivered = EIGHT.map((name) => flow.submit(name));
      await pass(1000);
      expect(delivered.filter(({ ends }) => ends.length === 0)).toEqual([delivered[2]]);
      expect(flow.calls.at(-1)).toEqual(['c1']);
      expect(flow.dispatcher.status.breaker.isOpen).toBe(false);
    });

    describe('by the hundred', () => {
      const names = Array.from({ length: 100 }, (_, index) => `m${'x'.repeat(index)}1`);
      const [good] = names as [string];
      const bad = names[50]!;

      beforeEach(async () => {
        flow = new Flow(sharedCalls({ maxMachines: 100 }));
        for (let call = 0; call < 5; call += 1) {
          await flow.submitAll('usual1');
        }
        flow.calls.length = 0;
        const isBad = (name: string): boolean => machineOf(name) === machineOf(bad);
        flow.service = (called) => (called.some(isBad) ? undefined : applied);
        for (const name of names) flow.submit(name);
      });

      it('lets no machine wait a second time for one that the service answers slowly', async () => {
        await pass(3000);
        expect(flow.calls).toEqual([names]);
        await flow.reply(bad, applied);
        flow.calls.length = 0;
        await flow.submitAll(...names);
        expect(flow.calls).toHaveLength(100);
        expect(flow.underWay).toEqual([[bad]]);
      });

      it('lets no machine wait a second time for one whose calls fail slowly', async () => {
        await pass(10_000);
        await flow.reply(bad, away);
        expect(flow.calls).toHaveLength(101);
        expect(flow.underWay).toEqual([[bad]]);
      });

      it('batches machines again after their own calls went well', async () => {
        for (const name of names) flow.submit(name.replace('1', '2'));
        await pass(3000);
        flow.calls.length = 0;
        await flow.reply(bad, applied);
        // During this time commands share calls only if they must.
        await pass(1000);
        await flow.submitAll(...names.map((name) => name.replace('1', '3')));
        expect(flow.calls.slice(100)).toHaveLength(1);
        expect(flow.calls[100]).toContain(good.replace('1', '3'));
        expect(flow.calls[100]).toHaveLength(99);
      });
    });

    it('batches machines whose calls end at about the same time', async () => {
      flow.service = hang;
      await flow.submitAll('mill1');
      await flow.submitAll('lathe1');
      expect(flow.underWay).toEqual([['mill1'], ['lathe1']]);
      for (const name of ['mill2', 'lathe2']) flow.submit(name);
      await flow.reply('mill1', applied, 2);
      await flow.reply('lathe1', applied);
      expect(flow.underWay).toEqual([['mill2', 'lathe2']]);
    });

    describe('of which a newer one replaces an older one', () => {
      const detail = 'a newer list of the machine came before this one was taken';
      const superseded = (attempts: number): Delivered => ({
        results: [{ kind: 'superseded', machineId: 'mill', attempts, detail }],
        ends: ['finished'],
      });

      it.each<[Precedence, string, string[]]>([
        ['newer', 'mill3', ['mill3']],
        ['older', 'mill1', ['mill1']],
        ['both', 'mill3', ['mill1', 'mill2', 'mill3']],
      ])('sends of those that wait the %s, and answers all', async (precedence, sent, taken) => {
        flow = new Flow(sharedCalls({}, () => precedence));
        const names = ['mill1', 'mill2', 'mill3'];
        const delivered = names.map((name) => flow.submit(name));
        await pass();
        names.forEach((name, index) => {
          if (!taken.includes(name)) expect(delivered[index]).toEqual(superseded(0));
        });
        await pass(LINGER_MS);
        const done = { results: [{ kind: 'applied', attempts: 1 }], ends: ['finished'] };
        names.forEach((name, index) => {
          if (taken.includes(name)) expect(delivered[index]).toMatchObject(done);
        });
        expect(flow.calls).toEqual([[sent]]);
      });

      it.each<[Precedence, string]>([
        ['newer', 'mill2'],
        ['older', 'mill1'],
        ['both', 'mill2'],
      ])(
        'compares a failed command with one that came meanwhile (%s), and keeps the back-off',
        async (precedence, sent) => {
          flow = new Flow(sharedCalls({}, () => precedence));
          flow.service = hang;
          const [older] = await flow.submitAll('mill1');
          const newer = flow.submit('mill2');
          await flow.reply('mill1', awayFor(500));
          if (precedence === 'newer') expect(older).toEqual(superseded(1));
          if (precedence === 'older') expect(newer).toEqual(superseded(0));
          await pass(490);
          expect(flow.underWay).toEqual([]);
          await pass(10);
          expect(flow.underWay).toEqual([[sent]]);
          await flow.reply(sent, applied);
          const done = (attempts: number) => ({ results: [{ kind: 'applied', attempts }] });
          if (precedence !== 'newer') expect(older).toMatchObject(done(2));
          if (precedence !== 'older') expect(newer).toMatchObject(done(1));
        },
      );

      it('compares a command with one that came during its look-up', async () => {
        const lookUp = pending<Admission>();
        flow.admit = (name) => (name === 'mill1' ? lookUp.promise : GO);
        const [older] = await flow.submitAll('mill1');
        const newer = flow.submit('mill2');
        lookUp.resolve(GO);
        await pass(LINGER_MS);
        expect(older).toEqual(superseded(0));
        expect(newer).toMatchObject({ results: [{ kind: 'applied', attempts: 1 }] });
        expect(flow.calls).toEqual([['mill2']]);
      });
    });

    it('keeps the back-off when a newer command replaces one that failed', async () => {
      jest.spyOn(Math, 'random').mockReturnValue(1);
      flow.service = () => away;
      flow.submit('mill1');
      while (flow.calls.length < 3) await pass(1);
      flow.submit('mill2');
      while (flow.calls.length < 4) await pass(1);
      await pass(1590);
      expect(flow.calls).toHaveLength(4);
    });

    it('does not supersede a command by one whose partition is revoked', async () => {
      flow = new Flow(sharedCalls({}, () => 'older'));
      flow.service = hang;
      const ownership = new AbortController();
      const older = flow.submit('mill1', { ownership });
      await pass(LINGER_MS);
      flow.submit('mill2');
      ownership.abort(stopping);
      await flow.reply('mill1', away);
      expect(older).toEqual({ results: [], ends: ['abandoned'] });
      expect(flow.underWay).toEqual([['mill2']]);
    });

    describe('of which neither is sure to be the newer', () => {
      const isTimed = (name: string): boolean => name.length > 'mill1'.length;
      const kindsOf = (delivered: Delivered[]): (string | undefined)[] =>
        delivered.map(({ results }) => results[0]?.kind);

      /** Commands with two digits may be outdated beside one with one digit; of two alike the newer counts. */
      beforeEach(() => {
        flow = new Flow({
          ...sharedCalls(),
          precedence: (older, newer) => (!isTimed(older) && isTimed(newer) ? 'apart' : 'newer'),
        });
        flow.service = hang;
      });

      it('sends both in order, and no more than two', async () => {
        const delivered = await flow.submitAll('mill1', 'mill11', 'mill12');
        expect(flow.underWay).toEqual([['mill1']]);
        await flow.reply('mill1', applied);
        await flow.reply('mill12', applied);
        expect(kindsOf(delivered)).toEqual(['applied', 'superseded', 'applied']);
      });

      it('sends only a third that is newer than both', async () => {
        const delivered = await flow.submitAll('mill1', 'mill11', 'mill2');
        expect(kindsOf(delivered)).toEqual(['superseded', 'superseded', undefined]);
        expect(flow.underWay).toEqual([['mill2']]);
      });

      it.each([
        ['sends one that failed before one that is not', ['mill1', 'mill11'], 'mill1'],
        ['lets those behind it stand for one that failed', ['mill11', 'mill2', 'mill12'], 'mill2'],
      ])('%s', async (_, [failing = '', ...behind], sent) => {
        await flow.submitAll(failing);
        for (const name of behind) flow.submit(name);
        await flow.reply(failing, awayFor(500));
        expect(flow.dispatcher.waiting).toBe(2);
        await pass(490);
        expect(flow.underWay).toEqual([]);
        await pass(10);
        expect(flow.underWay).toEqual([[sent]]);
      });
    });

    describe('of which one has messages of several partitions', () => {
      const elsewhere = { ownership: new AbortController() };
      let lost: Delivered;
      let kept: Delivered;

      beforeEach(() => {
        elsewhere.ownership = new AbortController();
        flow = new Flow(sharedCalls({}, () => 'both'));
        lost = flow.submit('mill1', elsewhere);
        kept = flow.submit('mill2');
      });

      it('abandons the messages of a revoked partition while it waits, and sends it for the others', async () => {
        elsewhere.ownership.abort(stopping);
        expect(lost).toEqual({ results: [], ends: ['abandoned'] });
        await pass(LINGER_MS);
        expect(kept).toMatchObject({ results: [{ kind: 'applied', attempts: 1 }] });
        expect(flow.calls).toEqual([['mill2']]);
      });

      it('keeps to Retry-After although one partition is revoked', async () => {
        flow.service = () => (flow.calls.length === 1 ? awayFor(500) : applied);
        await pass(LINGER_MS);
        elsewhere.ownership.abort(stopping);
        flow.submit('lathe1');
        await pass(400);
        expect(flow.calls).toEqual([['mill2'], ['lathe1']]);
        await pass(100);
        expect(flow.calls).toEqual([['mill2'], ['lathe1'], ['mill2']]);
        expect(kept).toMatchObject({ results: [{ kind: 'applied', attempts: 2 }] });
      });

      it('gives all of them a result if it was under way', async () => {
        flow.service = hang;
        await pass(LINGER_MS);
        elsewhere.ownership.abort(stopping);
        await flow.reply('mill2', applied);
        for (const it of [lost, kept]) expect(it).toMatchObject({ ends: ['finished'] });
      });

      it('repeats the look-up for the others when the partition it was made for is revoked', async () => {
        const { signal } = elsewhere.ownership;
        flow.admit = () => (signal.aborted ? GO : untilLost(signal));
        await pass(LINGER_MS);
        elsewhere.ownership.abort(stopping);
        await pass();
        expect(lost).toEqual({ results: [], ends: ['abandoned'] });
        const done = { results: [{ kind: 'applied', attempts: 1 }], ends: ['finished'] };
        expect(kept).toMatchObject(done);
      });
    });
  });

  describe('when no call gets through', () => {
    const MACHINES = ['a1', 'b1', 'c1', 'd1', 'e1'];
    let flow: Flow;

    beforeEach(() => {
      flow = new Flow(SINGLE_CALLS);
      flow.service = hang;
    });

    /** The flow after its first calls, each for a different machine, have failed. */
    const paused = async (options: Parameters<Flow['submit']>[1] = {}): Promise<Delivered[]> => {
      const delivered = MACHINES.map((name) => flow.submit(name, name === 'a1' ? options : {}));
      for (const name of MACHINES) await flow.reply(name, awayFor(PROBE_WAIT_MS / 2));
      expect(flow.dispatcher.status.breaker.openBecause).toBe('HTTP 429');
      return delivered;
    };

    it('pauses, and probes with one call at a time', async () => {
      await paused();
      expect(flow.underWay).toEqual([]);
      await pass(PROBE_WAIT_MS);
      expect(flow.underWay).toHaveLength(1);
      flow.submit('another1');
      await pass(AN_HOUR_MS);
      expect(flow.underWay).toHaveLength(1);
    });

    it('probes repeatedly, after a wait, each time for another machine', async () => {
      await paused();
      const probed: string[] = [];
      while (probed.length < MACHINES.length) {
        await pass(PROBE_WAIT_MS - 10);
        expect(flow.underWay).toEqual([]);
        await pass(10);
        const [name = 'none'] = flow.underWay.flat();
        probed.push(name);
        await flow.reply(name, away);
      }
      expect(probed.toSorted()).toEqual(MACHINES);
    });

    it('waits for Retry-After before it probes', async () => {
      await paused();
      await pass(PROBE_WAIT_MS);
      await flow.reply(flow.underWay[0]![0]!, awayFor(5000));
      await pass(4990);
      expect(flow.underWay).toEqual([]);
      await pass(10);
      expect(flow.underWay).toHaveLength(1);
    });

    it.each([applied, refused])(
      'resumes with all commands once a call is answered: $kind',
      async (answer) => {
        const delivered = await paused();
        await pass(PROBE_WAIT_MS);
        const [probe = 'none'] = flow.underWay.flat();
        await flow.reply(probe, answer);
        expect(flow.dispatcher.status.breaker.openBecause).toBeUndefined();
        const others = MACHINES.filter((name) => name !== probe);
        expect(flow.underWay.flat().toSorted()).toEqual(others);
        for (const name of others) await flow.reply(name, applied);
        for (const { ends } of delivered) expect(ends).toEqual(['finished']);
      },
    );

    it('probes again when the probe is cut off', async () => {
      await paused();
      await pass(PROBE_WAIT_MS);
      flow.slots.cutOffCalls(new Error('the partitions may be lost'));
      await pass();
      expect(flow.underWay).toHaveLength(1);
    });

    it('probes again when the partition of the probe is revoked', async () => {
      const elsewhere = new AbortController();
      await paused({ ownership: elsewhere });
      const looked = untilLost(elsewhere.signal);
      flow.admit = (name) => (name === 'a1' ? looked : GO);
      await pass(PROBE_WAIT_MS);
      expect(flow.underWay).toEqual([]);
      elsewhere.abort(stopping);
      await pass();
      expect(flow.underWay).toHaveLength(1);
    });

    it('probes with the next machine if one is rejected without a call', async () => {
      const delivered = await paused();
      const rejection = { code: 'unknown-machine', detail: 'removed' } as const;
      flow.admit = (name) =>
        name === 'e1' ? GO : Promise.resolve({ kind: 'rejected', rejection });
      await pass(10 * PROBE_WAIT_MS);
      expect(flow.underWay).toEqual([['e1']]);
      expect(delivered.map(({ ends }) => ends.length)).toEqual([1, 1, 1, 1, 0]);
    });

    it('reports its pause while a command waits', async () => {
      await paused();
      expect(flow.dispatcher.pausedBecause).toBe('HTTP 429');
      flow.ownership.abort(stopping);
      await pass();
      expect(flow.dispatcher.pausedBecause).toBeUndefined();
      flow.submit('mill1', { ownership: new AbortController() });
      expect(flow.dispatcher.pausedBecause).toBe('HTTP 429');
      await pass(PROBE_WAIT_MS);
      await flow.reply('mill1', applied);
      expect(flow.dispatcher.pausedBecause).toBeUndefined();
    });

    it('pauses at once when the token is refused', async () => {
      flow.submit('mill1');
      await flow.reply('mill1', noToken);
      expect(flow.dispatcher.status.breaker.openBecause).toContain('401');
      flow.submit('lathe1');
      await pass(PROBE_WAIT_MS - 10);
      expect(flow.underWay).toEqual([]);
      expect(flow.calls).toHaveLength(1);
    });

    it('makes no second probe because a call from before the pause fails', async () => {
      for (const name of [...MACHINES, 'old1', 'older1']) flow.submit(name);
      const [last, ...others] = MACHINES;
      for (const name of others) await flow.reply(name, awayFor(6000));
      await pass(4990);
      await flow.reply(last!, awayFor(PROBE_WAIT_MS / 2));
      expect(flow.dispatcher.status.breaker.isOpen).toBe(true);
      await pass(PROBE_WAIT_MS + 50);
      expect(flow.underWay).toHaveLength(3);
      await flow.reply('old1', away);
      await pass(AN_HOUR_MS);
      expect(flow.underWay).toHaveLength(2);
      await flow.reply('older1', applied);
      expect(flow.dispatcher.status.breaker.isOpen).toBe(true);
      await flow.reply(flow.underWay.flat()[0]!, applied);
      expect(flow.dispatcher.status.breaker.isOpen).toBe(false);
    });

    it('does not pause for others when five machines cannot be looked up', async () => {
      flow.admit = (name) => (MACHINES.includes(name) ? Promise.resolve(noInfo) : GO);
      for (const name of ['f1', 'g1', 'h1', ...MACHINES]) flow.submit(name);
      await pass(0);
      expect(flow.dispatcher.status.breaker.isOpen).toBe(false);
      flow.submit('late1');
      await pass(0);
      expect(flow.underWay).toContainEqual(['late1']);
    });

    it('does not pause for look-ups that failed once while other commands wait for their time', async () => {
      const failed = new Set<string>();
      const rejection = { code: 'unknown-reason', detail: 'no such reason' } as const;
      flow.admit = (name) => {
        if (name === 'later1') return { kind: 'not-yet', waitMs: 60_000 };
        if (failed.has(name)) return Promise.resolve({ kind: 'rejected', rejection });
        failed.add(name);
        return Promise.resolve(noInfo);
      };
      const delivered = ['a1', 'b1'].map((name) => flow.submit(name));
      flow.submit('later1');
      await pass(20_000);
      expect(delivered.map(({ ends }) => ends.length)).toEqual([1, 1]);
      expect(flow.dispatcher.pausedBecause).toBeUndefined();
    });

    it.each([
      ['calls for two machines', SINGLE_CALLS],
      ['one call for both', sharedCalls()],
    ])('pauses when all waiting commands have a Retry-After, after %s', async (_, options) => {
      flow = new Flow(options);
      flow.service = () => awayFor(AN_HOUR_MS);
      for (const name of ['a1', 'b1']) flow.submit(name);
      await pass(10_000);
      expect(flow.dispatcher.pausedBecause).toBe('HTTP 429');
    });

    it('does not pause for one machine with a Retry-After', async () => {
      flow.service = () => awayFor(AN_HOUR_MS);
      flow.submit('a1');
      await pass(10_000);
      expect(flow.dispatcher.pausedBecause).toBeUndefined();
    });

    it('does not pause for several while another call is under way', async () => {
      flow.service = ([name]) => (name === 'c1' ? undefined : awayFor(AN_HOUR_MS));
      for (const name of ['a1', 'b1', 'c1']) flow.submit(name);
      await pass(10_000);
      expect(flow.dispatcher.pausedBecause).toBeUndefined();
      await flow.reply('c1', awayFor(AN_HOUR_MS), 1000);
      expect(flow.dispatcher.pausedBecause).toBe('HTTP 429');
    });

    it('does not pause for several while another command waits for a slot', async () => {
      flow = new Flow({ slots: new CallSlots(1) });
      flow.service = () => awayFor(AN_HOUR_MS);
      for (const name of ['a1', 'b1']) flow.submit(name);
      await pass();
      expect(flow.slots.tryAcquire()).toBe(true);
      flow.submit('c1');
      await pass(10_000);
      expect(flow.dispatcher.pausedBecause).toBeUndefined();
      flow.slots.release();
      await pass(1000);
      expect(flow.dispatcher.pausedBecause).toBe('HTTP 429');
    });

    it('begins no call in a slot that it gets when it is paused', async () => {
      flow = new Flow({ slots: new CallSlots(1) });
      flow.service = hang;
      for (const name of ['mill1', 'lathe1']) flow.submit(name);
      await flow.reply('mill1', noToken);
      expect(flow.underWay).toEqual([]);
      expect(flow.slots.underWay).toBe(0);
      await pass(PROBE_WAIT_MS);
      expect(flow.underWay).toHaveLength(1);
    });

    it('batches all machines again once the service answers', async () => {
      flow = new Flow(sharedCalls());
      flow.service = () => away;
      for (const name of EIGHT) flow.submit(name);
      await pass(60_000);
      expect(flow.dispatcher.status.breaker.isOpen).toBe(true);
      expect(flow.calls.at(-1)).toHaveLength(1);
      flow.service = () => applied;
      flow.calls.length = 0;
      await pass(10_000);
      expect(flow.calls.flat().toSorted()).toEqual(EIGHT);
      await flow.submitAll(...EIGHT.map((name) => name.replace('1', '2')));
      expect(flow.calls.at(-1)).toHaveLength(8);
    });

    it('continues to probe when the probe is too large and its parts fail', async () => {
      flow = new Flow(sharedCalls());
      flow.service = () => noToken;
      await flow.submitAll('mill1');
      expect(flow.dispatcher.status.breaker.isOpen).toBe(true);
      const tooLarge: ServiceAnswer = { ...notFound, status: 413 };
      flow.service = (names) => (names.length > 1 ? tooLarge : away);
      const others = ['a1', 'b1'].map((name) => flow.submit(name));
      await pass(PROBE_WAIT_MS);
      expect(flow.calls).toContainEqual(['a1', 'b1']);
      flow.service = () => applied;
      await pass(60_000);
      expect(others).toMatchObject([{ ends: ['finished'] }, { ends: ['finished'] }]);
    });
  });

  describe('with one machine at fault', () => {
    let flow: Flow;

    const othersGetThrough = async (number: number): Promise<void> => {
      const other = flow.submit(`other${number}`);
      await pass(100);
      expect(other).toMatchObject({ ends: ['finished'] });
    };

    it.each([away, noRight])('continues for the others: $kind', async (answer) => {
      flow = new Flow(SINGLE_CALLS);
      const bad = 'bad1';
      flow.service = ([name]) => {
        if (name !== bad) return applied;
        // A second 403 decides it.
        return flow.calls.flat().filter((each) => each === bad).length < 2 ? answer : awayFor(50);
      };
      flow.submit(bad);
      for (let number = 1; number <= 100; number += 1) {
        await othersGetThrough(number);
        expect(flow.dispatcher.status.breaker.isOpen).toBe(false);
      }
      expect(flow.calls.flat().filter((each) => each === bad).length).toBeGreaterThan(50);
    });

    it('delays others by its Retry-After only once, even after a pause of the flow', async () => {
      flow = new Flow(sharedCalls());
      flow.service = (names) => (names.includes('a1') ? awayFor(60_000) : applied);
      const [bad, ...others] = await flow.submitAll(...EIGHT);
      await pass(30_000);
      expect(flow.dispatcher.status.breaker.isOpen).toBe(true);
      await othersGetThrough(1);
      expect(flow.dispatcher.status.breaker.isOpen).toBe(false);
      await pass(60_000);
      for (const { ends } of others) expect(ends).toEqual(['finished']);
      expect(bad).toMatchObject({ ends: [] });
    });

    it('continues for the others of a shared call that is answered 401 because of it', async () => {
      flow = new Flow(sharedCalls());
      flow.service = (names) => (names.includes('a1') ? noToken : applied);
      const bad = flow.submit('a1');
      for (let number = 1; number <= 20; number += 1) {
        const others = EIGHT.slice(1).map((name) => flow.submit(name.replace('1', `${number}`)));
        await pass(5000);
        for (const { ends } of others) expect(ends).toEqual(['finished']);
      }
      expect(bad.ends).toEqual([]);
    });

    it.each(BY_CALLS)(
      'rejects its command if it alone is forbidden, with %s',
      async (_, options) => {
        flow = new Flow(options);
        flow.service = (names) => {
          if (names.every((name) => name !== 'bad1')) return applied;
          return names.length > 1 ? noRight : undefined;
        };
        const [bad] = ['bad1', 'good1'].map((name) => flow.submit(name));
        await pass(100);
        expect(bad?.ends).toEqual([]);
        // Calls that began beside the others prove nothing yet.
        for (let time = 1; time <= 3 && bad?.ends.length === 0; time += 1) {
          await othersGetThrough(time);
          await flow.reply('bad1', noRight);
        }
        const detail = 'the token may not do this for the machine, while it may for others';
        const rejection = { code: 'rejected-by-service', detail };
        expect(bad).toMatchObject({
          results: [{ kind: 'rejected', machineId: 'bad', rejection, httpStatus: 403 }],
          ends: ['finished'],
        });
      },
    );

    it('rejects its command in a quiet plant, once all that shared its call have got through', async () => {
      flow = new Flow(sharedCalls());
      flow.service = (names) => (names.includes('bad1') ? noRight : applied);
      const [bad, ...good] = ['bad1', 'mill1', 'lathe1', 'saw1'].map((name) => flow.submit(name));
      await pass(30_000);
      for (const it of good) expect(it).toMatchObject({ results: [{ kind: 'applied' }] });
      expect(bad).toMatchObject({ results: [{ kind: 'rejected', httpStatus: 403 }] });
      expect(flow.dispatcher.status.breaker.isOpen).toBe(false);
    });

    it('keeps its refusal when a newer list replaces the waiting one', async () => {
      flow = new Flow(sharedCalls());
      flow.service = (names) => {
        if (!names.some((name) => name.startsWith('bad'))) return applied;
        return names.length > 1 ? noRight : undefined;
      };
      const [older] = ['bad1', 'good1'].map((name) => flow.submit(name));
      await pass(100);
      const newer = flow.submit('bad2');
      await flow.reply('bad1', noRight, 1000);
      for (let time = 0; time < 3; time += 1) await flow.reply('bad2', noRight, 1000);
      expect(older).toMatchObject({ results: [{ kind: 'superseded' }] });
      expect(newer).toMatchObject({ results: [{ kind: 'rejected', httpStatus: 403 }] });
    });

    it('rejects nothing when the token loses its right while slow calls are under way, and pauses', async () => {
      flow = new Flow(SINGLE_CALLS);
      const early = Array.from({ length: 40 }, (_, index) => `early${'x'.repeat(index)}1`);
      flow.service = () => undefined;
      for (const name of early) flow.submit(name);
      flow.service = () => noRight;
      const late = EIGHT.map((name) => flow.submit(name));
      for (const name of early) await flow.reply(name, applied, 50);
      for (const it of late) expect(it).toEqual({ results: [], ends: [] });
      expect(flow.dispatcher.status.breaker.openBecause).toContain('403');
    });

    it.each([
      ['404', 'to calls for each command', SINGLE_CALLS, notFound, EIGHT],
      ['404', 'to shared calls', sharedCalls(), notFound, EIGHT],
      ['404', 'to those for the only machine there is', SINGLE_CALLS, notFound, ['mill1']],
      ['401', 'to those for the only machine there is', SINGLE_CALLS, noToken, ['mill1']],
      ['403', 'to calls for each command', SINGLE_CALLS, noRight, EIGHT],
      ['403', 'to shared calls', sharedCalls(), noRight, EIGHT],
    ])(
      'pauses, and rejects nothing, while every answer is %s, %s',
      async (status, _, options, answer, names) => {
        jest.spyOn(Math, 'random').mockReturnValue(0.5);
        flow = new Flow(options);
        flow.service = () => answer;
        flow.empty = answer;
        const delivered = names.map((name) => flow.submit(name));
        await pass(30_000);
        expect(flow.dispatcher.status.breaker.openBecause).toContain(status);
        for (const it of delivered) expect(it).toEqual({ results: [], ends: [] });
        flow.service = () => applied;
        await pass(30_000);
        for (const it of delivered) expect(it).toMatchObject({ results: [{ kind: 'applied' }] });
      },
    );

    it.each(BY_CALLS)(
      'rejects its command if it alone is answered 404, with %s',
      async (_, options) => {
        jest.spyOn(Math, 'random').mockReturnValue(0.5);
        flow = new Flow(options);
        flow.service = (names) => (names.includes('bad1') ? notFound : applied);
        flow.empty = notFound;
        const [bad, ...good] = ['bad1', 'mill1', 'lathe1'].map((name) => flow.submit(name));
        await pass(1000);
        for (let number = 1; number <= 20; number += 1) await othersGetThrough(number);
        expect(bad).toMatchObject({ results: [{ kind: 'rejected', httpStatus: 404 }] });
        for (const it of good) expect(it).toMatchObject({ results: [{ kind: 'applied' }] });
        expect(flow.dispatcher.status.breaker.isOpen).toBe(false);
      },
    );

    it('rejects its command within seconds in a quiet plant, once an empty call is answered as listed', async () => {
      flow = new Flow(SINGLE_CALLS);
      flow.service = () => notFound;
      const bad = flow.submit('bad1');
      await pass(3000);
      expect(bad).toMatchObject({
        results: [{ kind: 'rejected', httpStatus: 404, attempts: 3 }],
        ends: ['finished'],
      });
      expect(flow.emptyCalls).toBe(1);
      expect(flow.dispatcher.status.breaker.isOpen).toBe(false);
    });

    it('does not reject command after command because of empty calls while none is applied', async () => {
      flow = new Flow(SINGLE_CALLS);
      flow.service = () => notFound;
      const delivered = EIGHT.map((name) => flow.submit(name));
      await pass(30_000);
      const rejected = delivered.filter(({ ends }) => ends.length > 0);
      expect(rejected.length).toBeLessThanOrEqual(3);
      expect(flow.dispatcher.status.breaker.isOpen).toBe(true);
    });

    it('rejects no command that was answered 404 during an outage, whichever gets through first afterwards', async () => {
      flow = new Flow(SINGLE_CALLS);
      flow.service = () => notFound;
      flow.empty = notFound;
      const delivered = EIGHT.map((name) => flow.submit(name));
      await pass(30_000);
      flow.service = () => applied;
      flow.submit('another1');
      await pass(10_000);
      for (const it of delivered) expect(it).toMatchObject({ results: [{ kind: 'applied' }] });
    });
  });

  describe('a flow that is paused by hand', () => {
    let hold: FlowHold;

    const heldFlow = (options: Partial<DispatcherOptions<string>> = SINGLE_CALLS): Flow => {
      hold = new FlowHold();
      return new Flow({ hold, ...options });
    };

    it.each(BY_CALLS)('makes no call before it is released, with %s', async (_, options) => {
      const flow = heldFlow(options);
      const delivered = EIGHT.map((name) => flow.submit(name));
      await pass(60_000);
      expect(flow.calls).toEqual([]);
      expect(flow.dispatcher).toMatchObject({ waiting: 8, pausedBecause: undefined });
      hold.setHeld(false);
      await pass(LINGER_MS);
      expect(flow.calls.flat().sort()).toEqual(EIGHT);
      for (const it of delivered) expect(it).toMatchObject({ results: [{ attempts: 1 }] });
    });

    it('sets no timer for waiting commands, but defers them', async () => {
      const flow = heldFlow({ deferredAfterMs: 1000 });
      flow.submit('mill1');
      await pass();
      expect(jest.getTimerCount()).toBeLessThanOrEqual(1);
      const asked = (['acquire', 'tryAcquire'] as const).map((way) => jest.spyOn(flow.slots, way));
      await pass(10_000);
      for (const each of asked) expect(each).not.toHaveBeenCalled();
      expect(flow.deferred).toHaveLength(1);
    });

    it('finishes the call under way, and makes no other', async () => {
      const flow = heldFlow();
      hold.setHeld(false);
      flow.service = hang;
      const first = flow.submit('mill1');
      await pass();
      hold.setHeld(true);
      const second = flow.submit('mill2');
      await flow.reply('mill1', applied, 1000);
      expect(first).toMatchObject({ results: [{ kind: 'applied' }], ends: ['finished'] });
      expect(second.ends).toEqual([]);
      expect(flow.calls).toEqual([['mill1']]);
    });

    it('does not send a call that was still waiting for a connection', async () => {
      const flow = heldFlow();
      hold.setHeld(false);
      const connection = pending<undefined>();
      flow.connected = connection.promise;
      const delivered = flow.submit('mill1');
      await pass();
      hold.setHeld(true);
      connection.resolve(undefined);
      await pass(10_000);
      expect(flow.calls).toEqual([]);
      hold.setHeld(false);
      await pass();
      expect(delivered).toMatchObject({ results: [{ kind: 'applied' }], ends: ['finished'] });
    });

    it('does not send the parts of a call that is refused meanwhile', async () => {
      const flow = heldFlow(sharedCalls());
      hold.setHeld(false);
      flow.service = hang;
      const delivered = await flow.submitAll(...EIGHT);
      hold.setHeld(true);
      flow.service = (names) => (names.includes('a1') ? refused : applied);
      await flow.reply('a1', refused, 10_000);
      expect(flow.calls).toHaveLength(1);
      hold.setHeld(false);
      await pass(10_000);
      const kinds = delivered.map(({ results }) => results.map(({ kind }) => kind));
      expect(kinds).toEqual([['rejected'], ...Array<string[]>(7).fill(['applied'])]);
    });

    it('does not count as a standstill, however long it lasts', async () => {
      const flow = heldFlow();
      hold.setHeld(false);
      flow.service = () => awayFor(AN_HOUR_MS);
      flow.submit('mill1');
      flow.submit('lathe1');
      await pass();
      hold.setHeld(true);
      await pass(60_000);
      expect(flow.dispatcher.pausedBecause).toBeUndefined();
    });
  });
});

describe('CallPace', () => {
  let pace: CallPace;

  beforeEach(() => {
    pace = new CallPace();
  });

  /** The slowness found for calls of the given durations, in order; 1 for a usual call. */
  const slownessOf = (durationMs: number, calls: number): number[] =>
    Array.from({ length: calls }, () => {
      const found = pace.qualityOf(durationMs, 'ok');
      return found === 'ok' ? 1 : found.slowness;
    });

  it('finds a call slow that takes several times as long as the others, and returns how many times', () => {
    for (let call = 0; call < 20; call += 1) expect(pace.qualityOf(100, 'ok')).toBe('ok');
    expect(pace.qualityOf(3000, 'ok')).toEqual({ slowness: 30 });
    expect(pace.qualityOf(390, 'ok')).toBe('ok');
    expect(pace.qualityOf(100, 'ok')).toBe('ok');
  });

  it('finds no short call slow', () => {
    pace.qualityOf(1, 'ok');
    expect(pace.qualityOf(240, 'ok')).toBe('ok');
  });

  it('adapts to a service that has become slow as a whole', () => {
    pace.qualityOf(20, 'ok');
    const found = slownessOf(1000, 60);
    expect(found[0]).toBe(50);
    // Each counts as less slow than the previous one, so that its machines are split less.
    expect(found).toEqual([...found].sort((a, b) => b - a));
    expect(found[3]).toBeLessThan(15);
    expect(found.at(-1)).toBe(1);
  });

  it('finds a late failure slow, and leaves quick failures out of the typical duration', () => {
    pace.qualityOf(100, 'ok');
    expect(pace.qualityOf(10_000, 'suspect')).toEqual({ slowness: 100 });
    pace = new CallPace();
    pace.qualityOf(100, 'ok');
    for (let call = 0; call < 60; call += 1) expect(pace.qualityOf(2, 'suspect')).toBe('suspect');
    expect(pace.qualityOf(300, 'ok')).toBe('ok');
  });
});
