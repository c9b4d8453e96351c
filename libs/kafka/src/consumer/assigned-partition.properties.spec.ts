import { jest } from '@jest/globals';
import fc from 'fast-check';
import { realNowMs } from '#libs/clock';
import type { FetchedRecord } from '../client/kafka-port.js';
import { nextTurn } from '../testing/wait.js';
import { AssignedPartition, type PartitionContext } from './assigned-partition.js';
import type { InboundMessage } from './inbound-message.js';
import { FakeTransactions } from './testing/fake-transactions.js';

const LIMITS = { maxUnfinished: 12, maxUnfinishedBytes: 100, maxOvertaken: Infinity, maxSpan: 60 };
const LARGEST_FETCH = 10;
const LAST_RESORT_MS = 40_000;

interface LogEntry {
  /** From the offset before. */
  gap: number;
  bytes: number;
}

type Step =
  | { kind: 'fetch'; count: number }
  | { kind: 'finish' | 'fail'; pick: number }
  | { kind: 'turn' | 'commit' | 'rejoin' | 'lose' };

const log: fc.Arbitrary<LogEntry[]> = fc.array(
  fc.record({ gap: fc.integer({ min: 1, max: 4 }), bytes: fc.nat(25) }),
  { minLength: 1, maxLength: 60 },
);

const pick = fc.nat(50);
const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.oneof(
    {
      weight: 5,
      arbitrary: fc.record({
        kind: fc.constant('fetch' as const),
        count: fc.integer({ min: 1, max: LARGEST_FETCH }),
      }),
    },
    { weight: 12, arbitrary: fc.record({ kind: fc.constant('finish' as const), pick }) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('fail' as const), pick }) },
    { weight: 5, arbitrary: fc.record({ kind: fc.constant('turn' as const) }) },
    {
      weight: 2,
      arbitrary: fc.record({ kind: fc.constantFrom('commit', 'rejoin', 'lose' as const) }),
    },
  ),
  { maxLength: 100 },
);

/** A partition, its committed offset, and the buffer of its current owner. */
class Partition {
  private readonly records: FetchedRecord[];
  /** Transaction markers follow the last record. */
  private readonly end: number;
  /** Handed over and not ended, possibly again. */
  private open: InboundMessage[] = [];
  /** Finished by the current owner, or before its first message. */
  private done = new Set<number>();
  private committed = 0;
  private fetchAt = 0;
  private isPaused = false;
  private queue = this.newOwner();

  constructor(entries: readonly LogEntry[]) {
    let offset = 0;
    this.records = entries.map(({ gap, bytes }) => {
      offset += gap;
      return { position: offset, timestamp: '0', key: null, value: null, headerList: [], bytes };
    });
    this.end = offset + 3;
  }

  async run(all: readonly Step[]): Promise<void> {
    for (const step of all) {
      await this.apply(step);
      this.check();
    }
    await this.drain();
  }

  private async apply(step: Step): Promise<void> {
    switch (step.kind) {
      case 'fetch':
        this.fetch(step.count);
        return;
      case 'finish':
        this.finish(this.open[step.pick % this.open.length]);
        return;
      case 'fail':
        this.fail(this.open[step.pick % this.open.length]);
        return;
      case 'turn':
        await nextTurn();
        return;
      case 'commit':
        this.committed = this.committable ?? this.committed;
        return;
      case 'rejoin':
        this.fetchAt = this.committed;
        return;
      case 'lose':
        await this.lose();
        return;
      default:
        step satisfies never;
    }
  }

  /** Fetches as the consumer does: nothing while paused; then the next records, or after a rejoin those from before. */
  private fetch(count: number): void {
    if (this.isPaused) return;
    const fetched = this.records.filter(({ position }) => position >= this.fetchAt).slice(0, count);
    const last = fetched.at(-1)?.position ?? this.fetchAt - 1;
    const next = this.records.find(({ position }) => position > last)?.position ?? this.end;
    // Offsets without a record come with those before or after.
    this.fetchAt = count % 2 === 0 ? next : last + 1;
    this.isPaused = this.queue.bufferFetched(fetched, this.fetchAt);
  }

  private finish(message: InboundMessage | undefined): void {
    if (message === undefined) return;
    this.open = this.open.filter((it) => it !== message);
    this.done.add(message.offset);
    message.finish();
  }

  private fail(message: InboundMessage | undefined): void {
    if (message === undefined) return;
    this.open = this.open.filter((it) => it !== message);
    message.fail(new Error('a bug'));
  }

  /** Half of the messages in flight end here all the same. */
  private async lose(): Promise<void> {
    const closed = this.queue.closeBuffer(new Error('revoked'));
    for (const [index, message] of [...this.open].entries()) {
      if (index % 2 === 0) this.finish(message);
      else message.abandon();
    }
    this.open = [];
    await closed;
    expect(this.committable ?? 0).toBeLessThanOrEqual(this.lowestUnfinished);
    // As a stopping owner does.
    this.committed = this.committable ?? this.committed;
    this.isPaused = false;
    this.fetchAt = this.committed;
    this.done = new Set([...this.done].filter((offset) => offset < this.committed));
    this.queue = this.newOwner();
  }

  private newOwner(): AssignedPartition {
    const surroundings: PartitionContext = {
      topicPrefix: '',
      handle: (messages) => {
        this.open.push(...messages);
        return Promise.resolve();
      },
      member: {
        resume: () => {
          this.isPaused = false;
        },
        seek: () => undefined,
      },
      allOvertaken: () => 0,
      overtakenFell: () => undefined,
      lost: new Map(),
      giveUp: (message) => {
        this.done.add(message.offset);
        message.finish();
      },
      beginTransactions: (_topic, _partition, progress, listener) =>
        new FakeTransactions(progress, listener),
    };
    return new AssignedPartition('topic', 0, surroundings, false, LIMITS);
  }

  private get committable(): number | undefined {
    return this.queue.progress.positionAfter()?.offset;
  }

  private get lowestUnfinished(): number {
    return this.records.find(({ position }) => !this.done.has(position))?.position ?? Infinity;
  }

  private check(): void {
    const { committable = 0, lowestUnfinished, isPaused } = this;
    const { size } = this.queue.progress;
    const isRight =
      committable <= lowestUnfinished &&
      size < LIMITS.maxUnfinished + LARGEST_FETCH &&
      !(size === 0 && isPaused);
    if (isRight) return;
    throw new Error(JSON.stringify({ committable, lowestUnfinished, size, isPaused }));
  }

  /** Whatever the state: once the messages end, the partition reaches its end. */
  private async drain(): Promise<void> {
    const giveUpMs = realNowMs() + LAST_RESORT_MS;
    while ((this.committable ?? this.committed) !== this.end) {
      if (realNowMs() > giveUpMs) throw new Error('the partition stands still');
      this.fetch(LARGEST_FETCH);
      for (const message of [...this.open]) this.finish(message);
      await nextTurn();
      this.check();
    }
    expect(this.queue.progress.size).toBe(0);
    expect(this.done.size).toBe(this.records.length);
  }
}

describe('AssignedPartition', () => {
  beforeEach(() => {
    // the shortest back-off
    jest.spyOn(Math, 'random').mockReturnValue(0);
  });

  it('never commits past an unfinished message, holds few messages, and reaches the end, whatever happens', async () => {
    await fc.assert(
      fc.asyncProperty(log, steps, async (entries, all) => {
        await new Partition(entries).run(all);
      }),
    );
  });
});
