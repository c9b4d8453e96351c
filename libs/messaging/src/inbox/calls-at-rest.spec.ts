import { Logger } from '@nestjs/common';
import { CallSlots } from '#libs/delivery';
import { CallsAtRest } from './calls-at-rest.js';
import { type InboundMessage } from './inbound-message.js';
import { OffsetCommits } from './offset-commits.js';
import { PartitionQueues } from './partition-queues.js';
import { type Statement } from './telling.js';

const NEVER_MS = 60_000;

const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** Lets everything come about that takes no time. */
async function pass(): Promise<void> {
  for (let turn = 0; turn < 10; turn += 1) await nextTurn();
}

interface OffsetAndNote {
  offset: string;
  metadata?: string | null;
}

function record(offset: number) {
  const source = { topic: 'a', partition: 0, timestamp: '0', key: null, value: null, headers: [] };
  return { ...source, offset, bytes: 1 };
}

describe('CallsAtRest', () => {
  let slots: CallSlots;
  let queues: PartitionQueues;
  let rest: CallsAtRest;
  /** What is committed and what is told, in the order in which it comes about. */
  let log: string[];
  let underWay: InboundMessage[];
  let commit: () => Promise<void>;
  let whenIdle: Promise<void>;

  beforeAll(() => {
    Logger.overrideLogger(false);
  });

  beforeEach(async () => {
    log = [];
    underWay = [];
    commit = () => Promise.resolve();
    whenIdle = Promise.resolve();
    slots = new CallSlots(4);
    queues = new PartitionQueues({
      handle: (messages) => {
        underWay.push(...messages);
        return Promise.resolve();
      },
      setAside: () => Promise.resolve(),
      resume: () => undefined,
      seek: () => undefined,
      mayTell: () => true,
      onCommitWanted: () => void commits.commitNow(),
    });
    const commitOffsets = async (offsets: readonly OffsetAndNote[]): Promise<void> => {
      await commit();
      for (const { offset, metadata } of offsets) {
        log.push(`commit ${offset}${metadata?.includes('rest') === true ? ' at rest' : ''}`);
      }
    };
    const commits = new OffsetCommits(queues, commitOffsets, () => 1000);
    rest = new CallsAtRest(slots, { idle: () => whenIdle }, queues, commits);
    for (const owned of queues.reassign(new Map([['a', [0]]]), () => false))
      owned.recall(undefined);
    push(0);
    tell(0);
    await pass();
    expect(log.splice(0)).toEqual(['commit 0', 'told 0']);
  });

  const push = (...offsets: number[]): void => {
    queues.push(
      { topic: 'a', partition: 0, highWatermark: 0, first: 0, end: 0 },
      offsets.map(record),
    );
  };

  const tell = (offset: number, acknowledged: Promise<void> = Promise.resolve()): void => {
    const message = underWay.find((it) => it.offset === offset);
    if (message === undefined) return;
    const { telling } = message.ownership;
    const statement: Statement = {
      tell: () => {
        log.push(`told ${offset}`);
        void acknowledged.then(() => {
          message.finish();
          telling.ended(statement);
        });
      },
      giveUp: () => {
        log.push(`gave up ${offset}`);
        message.abandon();
      },
    };
    telling.begin(statement);
  };

  it('says that nothing is told when that is so, and until it has taken it back, nothing is', async () => {
    push(1);
    await pass();
    await rest.begin(NEVER_MS);
    push(2);
    tell(1);
    await pass();
    expect(underWay.map(({ offset }) => offset)).toEqual([0, 1]);
    rest.end();
    tell(2);
    await pass();
    expect(log).toEqual(['commit 1 at rest', 'commit 1', 'told 1', 'told 2']);
  });

  it('has told and committed what calls have led to that were still under way', async () => {
    push(1);
    await pass();
    await new Promise<void>((resolve) => {
      slots.ask(resolve);
    });
    const atRest = rest.begin(NEVER_MS);
    await pass();
    expect(log).toEqual([]);
    tell(1);
    slots.release();
    await atRest;
    expect(log).toEqual(['told 1', 'commit 2 at rest']);
  });

  it('waits for what is being told before it says so, but not for long', async () => {
    push(1);
    await pass();
    let acknowledge: () => void = () => undefined;
    tell(
      1,
      new Promise((resolve) => {
        acknowledge = resolve;
      }),
    );
    await rest.begin(NEVER_MS);
    // what others have finished is not left to be done again for it
    expect(log).toEqual(['told 1', 'commit 1']);
    acknowledge();
    await pass();
    expect(log).toEqual(['told 1', 'commit 1', 'commit 2 at rest']);
  });

  it('tells nothing more after that, though the outbox is still busy', async () => {
    whenIdle = new Promise(() => undefined);
    push(1);
    await pass();
    await rest.begin(NEVER_MS);
    tell(1);
    expect(log).toEqual([]);
    rest.end();
    expect(log).toEqual(['told 1']);
  });

  it('takes a rest back that ended while its commit was under way', async () => {
    push(1);
    await pass();
    let committed: () => void = () => undefined;
    commit = () =>
      new Promise((resolve) => {
        committed = resolve;
      });
    const atRest = rest.begin(NEVER_MS);
    await pass();
    rest.end();
    tell(1);
    await pass();
    expect(log).toEqual([]);
    committed();
    await atRest;
    await pass();
    expect(log).toEqual(['commit 1 at rest']);
    committed();
    await pass();
    expect(log).toEqual(['commit 1 at rest', 'commit 1', 'told 1']);
  });

  it('does not stop what is told for a rest that has ended while calls were under way', async () => {
    push(1);
    await pass();
    await new Promise<void>((resolve) => {
      slots.ask(resolve);
    });
    const atRest = rest.begin(NEVER_MS);
    rest.end();
    slots.release();
    await atRest;
    tell(1);
    expect(log).toEqual(['commit 1', 'told 1']);
  });

  it('does not cut off calls once it has ended', async () => {
    await new Promise<void>((resolve) => {
      slots.ask(resolve);
    });
    const { signal } = slots.permit();
    const atRest = rest.begin(1);
    rest.end();
    await atRest;
    expect(signal.aborted).toBe(false);
  });

  it('lasts through another one that begins before it has ended', async () => {
    push(1);
    await pass();
    await Promise.all([rest.begin(NEVER_MS), rest.begin(NEVER_MS)]);
    tell(1);
    await pass();
    expect(log).toEqual(['commit 1 at rest']);
    rest.end();
    await pass();
    expect(log).toEqual(['commit 1 at rest', 'commit 1', 'told 1']);
  });

  it('is left by a stop with what could not be told untold', async () => {
    push(1);
    await pass();
    await rest.begin(NEVER_MS);
    tell(1);
    const closed = queues.closeAll();
    rest.end();
    await closed;
    await pass();
    expect(log).toEqual(['commit 1 at rest', 'gave up 1', 'commit 1']);
  });
});
