import fc from 'fast-check';
import {
  batchLimitAfter,
  type CallQuality,
  type LaneEntry,
  LaneQueue,
  NO_BATCH_LIMIT,
} from './lane-queue.js';

const MAX_BYTES = 10;

interface Entry extends LaneEntry {
  /** Grows from one entry to the next. */
  readonly id: number;
  readonly bytes: number;
  readonly partition: number;
  readonly issuedAt: number;
}

type Use = 'every entry counts' | 'the newest counts';

type Step =
  | { kind: 'add'; machine: number; bytes: number; partition: number; issuedAt: number }
  | { kind: 'take'; afterMs: number }
  | { kind: 'done'; pick: number; quality: CallQuality }
  | { kind: 'again'; pick: number; quality: CallQuality; waitMs: number }
  | { kind: 'lose'; partition: number }
  | { kind: 'forgive' };

function stepsWith(...conducts: CallQuality[]): fc.Arbitrary<Step[]> {
  const quality = fc.constantFrom(...conducts);
  const pick = fc.nat(9);
  const partition = fc.nat(2);
  const step: fc.Arbitrary<Step> = fc.oneof(
    {
      weight: 6,
      arbitrary: fc.record({
        kind: fc.constant('add' as const),
        machine: fc.nat(4),
        bytes: fc.nat(12),
        partition,
        issuedAt: fc.nat(3),
      }),
    },
    {
      weight: 5,
      arbitrary: fc.record({ kind: fc.constant('take' as const), afterMs: fc.nat(4) }),
    },
    { weight: 4, arbitrary: fc.record({ kind: fc.constant('done' as const), pick, quality }) },
    {
      weight: 4,
      arbitrary: fc.record({
        kind: fc.constant('again' as const),
        pick,
        quality,
        waitMs: fc.nat(30),
      }),
    },
    { weight: 2, arbitrary: fc.record({ kind: fc.constant('lose' as const), partition }) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('forgive' as const) }) },
  );
  return fc.array(step, { maxLength: 120 });
}

/** Machines a batch may have: fewer than there are; and so many that a suspect may still keep one batchLimit. */
const widths = fc.constantFrom(1, 3, 16);

interface Machine {
  readonly machineId: string;
  waiting: Entry[];
  underWay: Entry | undefined;
  notBeforeMs: number;
  batchLimit: number;
  lastBatchSize: number;
  /** Its last call went wrong, or could not be made. */
  hasFailed: boolean;
  /** How many others may still go before it; undefined while it may not be sent. */
  patience: number | undefined;
}

/** Drives a queue, knows by the simplest means what must be true of it, and checks that it is. */
class Traffic {
  private readonly queue: LaneQueue<Entry>;
  private readonly machines = new Map<string, Machine>();
  private readonly ends: { entry: Entry; how: 'done' | 'superseded' | 'lost' }[] = [];
  private readonly lost = new Set<Entry>();
  private nowMs = 1;
  private added = 0;

  constructor(
    private readonly use: Use,
    /** No machine is ever suspected: turns are exact, then. */
    private readonly isCalm: boolean,
    private readonly maxMachines: number,
  ) {
    this.queue = new LaneQueue({ maxMachines, maxBytes: MAX_BYTES }, ({ bytes }) => bytes);
  }

  run(steps: readonly Step[]): void {
    for (const step of steps) {
      this.apply(step);
      this.checkCounts();
    }
    for (let left = 2 * this.added; this.queue.busyMachines > 0; left -= 1) {
      expect(left).toBeGreaterThan(0);
      while (this.underWay.length > 0) this.done({ pick: 0, quality: 'ok' });
      this.take(1000);
      this.checkCounts();
    }
    this.checkEnds();
  }

  private apply(step: Step): void {
    switch (step.kind) {
      case 'add':
        this.add(step);
        return;
      case 'take':
        this.take(step.afterMs);
        return;
      case 'done':
        this.done(step);
        return;
      case 'again':
        this.again(step);
        return;
      case 'lose':
        this.lose(step.partition);
        return;
      case 'forgive':
        this.forgive();
        return;
      default:
        step satisfies never;
    }
  }

  /** Who has failed goes behind all that are ready. */
  private forgive(): void {
    this.queue.liftBatchLimits();
    const machines = [...this.machines.values()];
    const readyCount = machines.filter((it) => this.isReady(it)).length;
    for (const machine of machines) {
      machine.batchLimit = NO_BATCH_LIMIT;
      if (machine.hasFailed && machine.patience !== undefined) machine.patience = readyCount - 1;
    }
  }

  private add({ machine, bytes, partition, issuedAt }: Extract<Step, { kind: 'add' }>): void {
    this.added += 1;
    const machineId = `m${machine}`;
    const entry = { machineId, bytes, partition, issuedAt, id: this.added };
    const { waiting } = this.machineOf(machineId);
    const last =
      this.use === 'the newest counts' ? this.queue.waitingOf(machineId).at(-1) : undefined;
    if (last === undefined) {
      this.queue.enqueue(entry);
      waiting.push(entry);
    } else {
      const kept = this.keepOne(last, entry);
      this.queue.replaceAll(machineId, [kept]);
      waiting.splice(0, 1, kept);
    }
  }

  private take(afterMs: number): void {
    this.nowMs += afterMs;
    const ready = [...this.machines.values()].filter((it) => this.isReady(it));
    expect(this.queue.readyMachines(this.nowMs)).toBe(ready.length);
    this.checkNextDue();
    for (const machine of ready) machine.patience ??= ready.length - 1;
    const batch = this.queue.takeBatch(this.nowMs);
    expect(batch.length > 0).toBe(ready.length > 0);
    this.checkLimits(batch);
    for (const entry of batch) {
      const machine = this.machineOf(entry.machineId);
      expect(ready).toContain(machine);
      expect(machine.underWay).toBeUndefined();
      expect(machine.waiting.shift()).toBe(entry);
      machine.underWay = entry;
      machine.lastBatchSize = batch.length;
      machine.patience = undefined;
    }
    for (const machine of ready) {
      if (machine.patience === undefined) continue;
      // A suspect that may not join a batch is overtaken by others, but by no more batches than there were machines.
      machine.patience -= this.isCalm ? batch.length : 1;
      expect(machine.patience).toBeGreaterThanOrEqual(0);
    }
  }

  private done({ pick, quality }: { pick: number; quality: CallQuality }): void {
    const machine = this.underWay[pick % this.underWay.length];
    const entry = machine?.underWay;
    if (entry === undefined) return;
    const isLost = this.lost.has(entry);
    this.ends.push({ entry, how: isLost ? 'lost' : 'done' });
    this.free(machine!, isLost ? 'unknown' : quality, 0);
  }

  private again({ pick, quality, waitMs }: Extract<Step, { kind: 'again' }>): void {
    const machine = this.underWay[pick % this.underWay.length];
    const entry = machine?.underWay;
    if (entry === undefined) return;
    if (this.lost.has(entry)) {
      this.done({ pick, quality });
      return;
    }
    const { machineId, waiting } = machine!;
    const newer =
      this.use === 'the newest counts' ? this.queue.waitingOf(machineId).at(-1) : undefined;
    if (newer === undefined) {
      this.queue.putBack(entry, quality, this.nowMs + waitMs);
      waiting.unshift(entry);
      this.note(machine!, quality, this.nowMs + waitMs);
    } else {
      const kept = this.keepOne(entry, newer);
      this.queue.replaceAll(machineId, [kept]);
      waiting.splice(0, 1, kept);
      this.free(machine!, quality, this.nowMs + waitMs);
    }
  }

  private lose(partition: number): void {
    const expected: Entry[] = [];
    for (const machine of this.machines.values()) {
      const { underWay, waiting } = machine;
      if (underWay?.partition === partition) this.lost.add(underWay);
      expected.push(...waiting.filter((it) => it.partition === partition));
      machine.waiting = waiting.filter((it) => it.partition !== partition);
      this.rest(machine);
    }
    const removed = this.queue.removeWaiting((it) => it.partition === partition);
    expect(new Set(removed)).toEqual(new Set(expected));
    expect(removed).toHaveLength(expected.length);
    for (const entry of removed) this.ends.push({ entry, how: 'lost' });
  }

  private free(machine: Machine, quality: CallQuality, notBeforeMs: number): void {
    this.queue.releaseMachine(machine.machineId, quality, notBeforeMs);
    this.note(machine, quality, notBeforeMs);
  }

  private note(machine: Machine, quality: CallQuality, notBeforeMs: number): void {
    machine.underWay = undefined;
    machine.notBeforeMs = notBeforeMs;
    machine.batchLimit = batchLimitAfter(machine.batchLimit, machine.lastBatchSize, quality);
    if (notBeforeMs > 0) machine.hasFailed = true;
    else if (quality !== 'unknown') machine.hasFailed = false;
    this.rest(machine);
  }

  /** A machine with nothing left to send has no turn, and no time to wait for. */
  private rest(machine: Machine): void {
    if (machine.waiting.length > 0) return;
    machine.patience = undefined;
    if (machine.underWay === undefined) machine.notBeforeMs = 0;
  }

  private keepOne(older: Entry, newer: Entry): Entry {
    const [kept, other] = older.issuedAt > newer.issuedAt ? [older, newer] : [newer, older];
    this.ends.push({ entry: other, how: 'superseded' });
    return kept;
  }

  private get underWay(): Machine[] {
    return [...this.machines.values()].filter(({ underWay }) => underWay !== undefined);
  }

  private isReady({ waiting, underWay, notBeforeMs }: Machine): boolean {
    return waiting.length > 0 && underWay === undefined && notBeforeMs <= this.nowMs;
  }

  private machineOf(machineId: string): Machine {
    const known = this.machines.get(machineId);
    if (known !== undefined) return known;
    const none = { underWay: undefined, notBeforeMs: 0, patience: undefined };
    const trusted = { batchLimit: NO_BATCH_LIMIT, lastBatchSize: 1, hasFailed: false };
    const machine: Machine = { machineId, waiting: [], ...none, ...trusted };
    this.machines.set(machineId, machine);
    return machine;
  }

  private checkLimits(batch: readonly Entry[]): void {
    const bytes = batch.reduce((sum, entry) => sum + entry.bytes, 0);
    if (batch.length > 1) expect(bytes).toBeLessThanOrEqual(MAX_BYTES);
    for (const { machineId } of batch) {
      const { batchLimit } = this.machineOf(machineId);
      expect(batch.length).toBeLessThanOrEqual(Math.min(batchLimit, this.maxMachines));
    }
  }

  private checkNextDue(): void {
    const waiting = [...this.machines.values()].filter(
      (it) => it.waiting.length > 0 && it.underWay === undefined,
    );
    const dueMs = this.queue.nextDueMs(this.nowMs);
    expect(dueMs).toBeLessThanOrEqual(
      Math.min(...waiting.map(({ notBeforeMs }) => Math.max(notBeforeMs, this.nowMs))),
    );
    expect(dueMs <= this.nowMs).toBe(waiting.some((it) => this.isReady(it)));
  }

  private checkCounts(): void {
    const machines = [...this.machines.values()];
    expect(this.queue.waiting).toBe(machines.reduce((sum, it) => sum + it.waiting.length, 0));
    const isBusy = ({ waiting, underWay }: Machine): boolean =>
      waiting.length > 0 || underWay !== undefined;
    expect(this.queue.busyMachines).toBe(machines.filter(isBusy).length);
    for (const { machineId, waiting } of machines) {
      expect(this.queue.waitingOf(machineId).at(-1)).toBe(waiting.at(-1));
      if (this.use === 'the newest counts') expect(waiting.length).toBeLessThanOrEqual(1);
    }
  }

  private checkEnds(): void {
    const ids = this.ends.map(({ entry }) => entry.id).sort((a, b) => a - b);
    expect(ids).toEqual(Array.from({ length: this.added }, (_, index) => index + 1));
    for (const machineId of this.machines.keys()) {
      const done = this.ends.filter(({ entry, how }) => {
        return how === 'done' && entry.machineId === machineId;
      });
      const order = done.map(({ entry }) => entry.id);
      expect(order).toEqual([...order].sort((a, b) => a - b));
    }
    if (this.use === 'every entry counts') {
      expect(this.ends.map(({ how }) => how)).not.toContain('superseded');
    }
  }
}

describe.each<Use>(['every entry counts', 'the newest counts'])('LaneQueue where %s', (use) => {
  it('loses and doubles nothing, keeps order and limits, and lets nobody starve', () => {
    fc.assert(
      fc.property(stepsWith('ok', 'suspect', 'failed', 'unknown'), widths, (steps, width) => {
        new Traffic(use, false, width).run(steps);
      }),
      { numRuns: 100 * Number(process.env.PROPERTY_DEPTH ?? 1) },
    );
  });

  it('lets only those go before a machine that were ready before it, while none is suspected', () => {
    fc.assert(
      fc.property(stepsWith('ok', 'unknown'), widths, (steps, width) => {
        new Traffic(use, true, width).run(steps);
      }),
      { numRuns: 100 * Number(process.env.PROPERTY_DEPTH ?? 1) },
    );
  });
});
