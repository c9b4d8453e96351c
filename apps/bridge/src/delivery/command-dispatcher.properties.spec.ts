import { jest } from '@jest/globals';
import fc from 'fast-check';
import { afterRealMs, ManualClock, realNowMs } from '#libs/clock';
import { type CallPermit, CallSlots } from '#libs/delivery';
import { unpausedFlows } from '../flow-control/testing/unpaused-flows.js';
import {
  type Admission,
  type Command,
  type CommandResult,
  type DispatcherOptions,
  GO,
  MessageResults,
  type Precedence,
} from './command.js';
import { CommandDispatcher } from './command-dispatcher.js';
import { inboundMessage, targetOf } from './testing/inbound-message.js';
import type { ServiceAnswer } from './verdict.js';

const MACHINES = 4;
const PARTITIONS = 2;
const SLOTS = 2;
const MAX_MACHINES = 3;
const LINGER_MS = 20;
/** Far more than the deliveries take with the longest back-off once every call succeeds. */
const DRAIN_STEPS = 5000;
const DRAIN_STEP_MS = 100;

/** The admission of a command before its first call. */
interface Terms {
  verdict: 'go' | 'rejected';
  /** Milliseconds; 0 without a look-up. */
  lookUpMs: number;
  dueInMs: number;
  unavailableTimes: number;
}

interface ListTerms {
  issuedAt: number | null;
  cumulative: boolean;
}

type Step =
  | { do: 'submit'; machine: number; partition: number; terms: Terms; list: ListTerms }
  | { do: 'answer'; call: number; answer: ServiceAnswer | Error }
  | { do: 'lose'; partition: number }
  | { do: 'pass'; ms: number }
  | { do: 'hold' | 'resume' | 'cut off' };

const error = new Error('HTTP 503');

const answers = fc.oneof<fc.MaybeWeightedArbitrary<ServiceAnswer | Error>[]>(
  { weight: 4, arbitrary: fc.constant({ kind: 'data' as const }) },
  fc.constant({ kind: 'rejected' as const, status: 422, detail: 'no' }),
  fc.record({
    kind: fc.constant('retry' as const),
    afterMs: fc.option(fc.nat(2000), { nil: null }),
    error: fc.constant(error),
  }),
  fc.record({ kind: fc.constant('unauthorised' as const), status: fc.constantFrom(401, 403) }),
  fc.constant(new Error('a defect')),
);

const terms = fc.record<Terms>({
  verdict: fc.oneof({ weight: 5, arbitrary: fc.constant('go') }, fc.constant('rejected')),
  lookUpMs: fc.oneof({ weight: 3, arbitrary: fc.constant(0) }, fc.nat(500)),
  dueInMs: fc.oneof({ weight: 5, arbitrary: fc.constant(0) }, fc.nat(500)),
  unavailableTimes: fc.oneof({ weight: 5, arbitrary: fc.constant(0) }, fc.nat(3)),
});

const steps = fc.array(
  fc.oneof<fc.MaybeWeightedArbitrary<Step>[]>(
    {
      weight: 6,
      arbitrary: fc.record({
        do: fc.constant('submit'),
        machine: fc.nat(MACHINES - 1),
        partition: fc.nat(PARTITIONS - 1),
        terms,
        list: fc.record({ issuedAt: fc.option(fc.nat(9)), cumulative: fc.boolean() }),
      }),
    },
    {
      weight: 6,
      arbitrary: fc.record({ do: fc.constant('answer'), call: fc.nat(SLOTS - 1), answer: answers }),
    },
    { weight: 4, arbitrary: fc.record({ do: fc.constant('pass'), ms: fc.nat(1000) }) },
    fc.record({ do: fc.constant('lose'), partition: fc.nat(PARTITIONS - 1) }),
    fc.record({ do: fc.constantFrom('hold', 'resume', 'cut off') }),
  ),
  { maxLength: 60, size: 'max' },
);

interface Payload extends Terms, ListTerms {
  /** Number of the message, in the order of receipt. */
  number: number;
  dueMs: number;
}

interface Delivered {
  machineId: string;
  revoked: AbortSignal;
  ends: string[];
  results: CommandResult[];
}

const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** A flow with the service and Kafka around it; throws at once when a rule is broken. */
class World {
  readonly delivered: Delivered[] = [];
  /** By machine, the messages that a call has answered, in the order of the calls. */
  readonly settled = new Map<string, number[]>();
  readonly slots = new CallSlots(SLOTS);
  readonly dispatcher: CommandDispatcher<Payload>;
  private readonly underWay: {
    machineIds: string[];
    reply: (answer: ServiceAnswer | Error) => void;
  }[] = [];
  private readonly owners = Array.from({ length: PARTITIONS }, () => new AbortController());
  private isPaused = false;

  constructor(
    private readonly shares: boolean,
    options: Partial<DispatcherOptions<Payload>>,
  ) {
    this.dispatcher = new CommandDispatcher({
      flow: 'a-flow',
      hold: unpausedFlows().holdOf('work-orders'),
      clock: new ManualClock(),
      slots: this.slots,
      limits: { maxMachines: 1, maxBytes: Infinity },
      sizeOf: () => 1,
      lingerMs: 0,
      deferredAfterMs: 1000,
      admit: (command) => this.admit(command),
      call: (commands, permit) => this.call(commands, permit),
      callEmpty: () => Promise.resolve({ kind: 'rejected', status: 422, detail: 'no machine' }),
      onDeferred: () => undefined,
      ...options,
    });
  }

  async take(step: Step): Promise<void> {
    switch (step.do) {
      case 'submit':
        this.submit(step);
        break;
      case 'answer':
        this.underWay[step.call]?.reply(step.answer);
        break;
      case 'lose':
        this.owners[step.partition]?.abort(new Error('the partition is lost'));
        this.owners[step.partition] = new AbortController();
        break;
      case 'pass':
        jest.advanceTimersByTime(step.ms);
        break;
      case 'hold':
        this.isPaused = true;
        this.slots.pauseCalls();
        break;
      case 'resume':
        this.isPaused = false;
        this.slots.resumeCalls();
        break;
      case 'cut off':
        this.slots.cutOffCalls(new Error('cut off'));
        break;
      default:
        step satisfies never;
    }
    await nextTurn();
  }

  async drain(): Promise<void> {
    await this.take({ do: 'resume' });
    for (let step = 0; step < DRAIN_STEPS; step += 1) {
      if (this.delivered.every(({ ends }) => ends.length > 0)) return;
      while (this.underWay.length > 0) {
        await this.take({ do: 'answer', call: 0, answer: { kind: 'data' } });
      }
      await this.take({ do: 'pass', ms: DRAIN_STEP_MS });
    }
  }

  private submit({ machine, partition, terms, list }: Extract<Step, { do: 'submit' }>): void {
    const number = this.delivered.length;
    const machineId = `M-${machine}`;
    // Lists of the ledger come through the partitions of the orders, all others through their machine's.
    const from = list.cumulative && this.shares ? partition : machine % PARTITIONS;
    const revoked = this.owners[from]!.signal;
    const delivered: Delivered = { machineId, revoked, ends: [], results: [] };
    this.delivered.push(delivered);
    const message = inboundMessage({
      ...{ partition: from, offset: number, revoked },
      finish: () => delivered.ends.push('finished'),
      abandon: () => delivered.ends.push('abandoned'),
      fail: () => delivered.ends.push('failed'),
    });
    const collected = new MessageResults(targetOf(message), 1, (_, results) => {
      delivered.results.push(...results);
      if (results.some(({ kind }) => kind !== 'superseded')) this.note(machineId, number);
      return [];
    });
    const dueMs = realNowMs() + terms.dueInMs;
    const payload = { number, dueMs, ...terms, ...list };
    this.dispatcher.submitCommand(machineId, payload, collected);
  }

  private note(machineId: string, number: number): void {
    this.settled.set(machineId, [...(this.settled.get(machineId) ?? []), number]);
  }

  private admit({ payload, waiters }: Command<Payload>): Admission | Promise<Admission> {
    const waitMs = payload.dueMs - realNowMs();
    if (waitMs > 0) return { kind: 'not-yet', waitMs };
    const { lookUpMs } = payload;
    if (lookUpMs === 0) return this.judge(payload);
    payload.lookUpMs = 0;
    // A look-up is made for one message, and is aborted with its partition.
    const { revoked } = waiters[0]!.results.message;
    return new Promise((resolve, reject) => {
      revoked.addEventListener('abort', () => reject(revoked.reason as Error));
      afterRealMs(lookUpMs, () => resolve(this.judge(payload)));
    });
  }

  private judge(payload: Payload): Admission {
    if (payload.unavailableTimes > 0) {
      payload.unavailableTimes -= 1;
      return { kind: 'unavailable', why: 'HTTP 503', afterMs: null };
    }
    if (payload.verdict === 'go') return GO;
    return { kind: 'rejected', rejection: { code: 'unknown-reason', detail: 'none' } };
  }

  private call(
    commands: readonly Command<Payload>[],
    { signal }: CallPermit,
  ): Promise<ServiceAnswer> {
    const machineIds = commands.map(({ machineId }) => machineId);
    this.checkBegin(commands, machineIds);
    return new Promise((resolve, reject) => {
      const reply = (answer: ServiceAnswer | Error): void => {
        this.underWay.splice(this.underWay.indexOf(call), 1);
        signal.removeEventListener('abort', breakOff);
        if (answer instanceof Error) reject(answer);
        else resolve(answer);
      };
      const breakOff = (): void => reply(signal.reason as Error);
      const call = { machineIds, reply };
      this.underWay.push(call);
      signal.addEventListener('abort', breakOff);
    });
  }

  private checkBegin(commands: readonly Command<Payload>[], machineIds: readonly string[]): void {
    const called = [...this.underWay.flatMap((call) => call.machineIds), ...machineIds];
    if (new Set(called).size < called.length) this.broken('two calls of one machine at a time');
    if (this.underWay.length >= SLOTS) this.broken('more calls than slots');
    if (this.isPaused) this.broken('a call while the slots are paused');
    if (commands.length > (this.shares ? MAX_MACHINES : 1)) this.broken('too many in a call');
    if (commands.some(({ isLost }) => isLost)) this.broken('a call for a partition that is lost');
  }

  readonly violations: string[] = [];

  private broken(rule: string): void {
    this.violations.push(rule);
  }
}

function precedenceOf(older: Payload, newer: Payload): Precedence {
  if (older.cumulative && newer.cumulative) return 'both';
  const isOlder = (newer.issuedAt ?? Infinity) < (older.issuedAt ?? -Infinity);
  return isOlder ? 'older' : 'newer';
}

describe('CommandDispatcher, with any sequence of steps', () => {
  beforeEach(() => {
    jest.useFakeTimers({ doNotFake: ['Date', 'nextTick', 'queueMicrotask', 'setImmediate'] });
  });

  afterEach(() => {
    jest.useRealTimers();
  });

  it.each<[string, boolean, Partial<DispatcherOptions<Payload>>]>([
    ['a call for each command', false, {}],
    [
      'shared calls',
      true,
      {
        limits: { maxMachines: MAX_MACHINES, maxBytes: Infinity },
        lingerMs: LINGER_MS,
        precedence: precedenceOf,
      },
    ],
  ])(
    'ends each message once and keeps the order of each machine, with %s',
    async (_, shares, options) => {
      const jitter = fc.constantFrom(0, 0.5, 0.999);
      await fc.assert(
        fc.asyncProperty(steps, jitter, async (schedule, random) => {
          jest.spyOn(Math, 'random').mockReturnValue(random);
          const world = new World(shares, options);
          for (const step of schedule) await world.take(step);
          await world.drain();
          expect(world.violations).toEqual([]);
          for (const { ends, results, revoked } of world.delivered) {
            expect(ends).toEqual([results.length === 1 ? 'finished' : 'abandoned']);
            if (results.length === 0) expect(revoked.aborted).toBe(true);
          }
          for (const numbers of world.settled.values()) {
            expect(numbers).toEqual(numbers.toSorted((a, b) => a - b));
          }
          const { busyMachines, waiting, waiters } = world.dispatcher;
          const { underWay } = world.slots;
          expect({ busyMachines, waiting, underWay, waiters: waiters.size }).toEqual({
            busyMachines: 0,
            waiting: 0,
            underWay: 0,
            waiters: 0,
          });
        }),
        { numRuns: 40 * Number(process.env.PROPERTY_DEPTH ?? 1) },
      );
    },
  );
});
