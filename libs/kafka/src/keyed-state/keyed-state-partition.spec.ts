import { jest } from '@jest/globals';
import { Logger } from '@nestjs/common';
import fc from 'fast-check';
import { withDeadline } from '#libs/clock';
import {
  CompressionTypes,
  type KafkaMessage,
  type Message,
  type ProducerBatch,
} from '#libs/kafkajs-patches';
import type { FetchControl, KafkaClient } from '../client/kafka-port.js';
import { formatOffsetMetadata } from '../producer/offset-metadata.js';
import { nextTurn } from '../testing/wait.js';
import {
  type InputState,
  KeyedStatePartition,
  type TransactedState,
} from './keyed-state-partition.js';
import { PackedJson, StoredValues } from './stored-values.js';

/** The client's time-outs are many times as long. */
const CLOSE_DEADLINE_MS = 4000;
const NAME = 'machine-bridge.counts.v1';
/** Of a process that is not a member of its group. */
const fetchControl: FetchControl = {
  pause: () => undefined,
  resume: () => undefined,
  seek: () => undefined,
};

type Owned = InputState<number> & TransactedState<number>;

/** A partition of a process that is not a member of its group. */
function partitionOf(
  kafka: KafkaClient,
  onOwned: (state: Owned) => void = () => undefined,
  delay?: (ms: number) => Promise<void>,
  inputsFenced?: () => Promise<void>,
): KeyedStatePartition<number> {
  const options = {
    kafka,
    name: NAME,
    groupId: 'group',
    parse: (json: unknown) => json as number,
    onOwned,
  };
  return new KeyedStatePartition(0, options, fetchControl, inputsFenced, undefined, delay);
}

/** Whose producers begin transactions like that. */
function kafkaOf(
  transaction: () => object,
  connect: () => Promise<void> = () => Promise.resolve(),
): KafkaClient {
  const producer = { connect, transaction, disconnect: () => Promise.resolve() };
  return { producer: () => producer } as unknown as KafkaClient;
}

function asFetched({ key, value }: Message): KafkaMessage {
  return { key: Buffer.from(key!), value: Buffer.from(value!) } as unknown as KafkaMessage;
}

const never = new Promise<never>(() => undefined);

describe('a partition of state while Kafka does not answer', () => {
  afterEach(() => {
    jest.useRealTimers();
  });

  it.each(['a connection', 'its mark to be written'])(
    'is closed without waiting for %s',
    async (what) => {
      let asked = 0;
      let giveUp: (error: Error) => void = () => undefined;
      const ask = (): Promise<never> => {
        asked += 1;
        return new Promise((_, reject) => (giveUp = reject));
      };
      const kafka = what === 'a connection' ? kafkaOf(() => ({}), ask) : kafkaOf(ask);
      const partition = partitionOf(kafka);
      partition.startRestoring();
      while (asked === 0) await nextTurn();
      expect(await withDeadline(partition.closePartition(), CLOSE_DEADLINE_MS)).toBe(true);
      // else its deadline of a minute would keep the worker of the tests from ending
      giveUp(new Error('the test is over'));
    },
  );

  it('writes no mark before the earlier owners of its inputs are fenced: they write here as well', async () => {
    let marks = 0;
    const sendBatch = (): [] => {
      marks += 1;
      return [];
    };
    let fenced: () => void = () => undefined;
    const whenFenced = new Promise<void>((resolve) => (fenced = resolve));
    const kafka = kafkaOf(() => ({ sendBatch, commit: () => Promise.resolve() }));
    const partition = partitionOf(kafka, undefined, undefined, () => whenFenced);
    partition.startRestoring();
    await nextTurn();
    expect(marks).toBe(0);
    fenced();
    while (marks === 0) await nextTurn();
    await partition.closePartition();
  });

  it('writes another mark when nothing comes up to the previous one, and reports it meanwhile', async () => {
    jest.useFakeTimers({ doNotFake: ['Date', 'nextTick', 'queueMicrotask', 'setImmediate'] });
    let marks = 0;
    const sendBatch = (): [] => {
      marks += 1;
      return [];
    };
    const partition = partitionOf(kafkaOf(() => ({ sendBatch, commit: () => Promise.resolve() })));
    partition.startRestoring();
    await jest.advanceTimersByTimeAsync(29_000);
    expect(marks).toBe(1);
    await jest.advanceTimersByTimeAsync(2000);
    while (marks === 1) await nextTurn();
    expect(partition.isRestored).toBe(false);
    await jest.advanceTimersByTimeAsync(6000);
    expect(partition.stateProblem).toContain('before its mark');
    await partition.closePartition();
  });
});

describe('a partition of state whose writes take long', () => {
  const EVENT = { topic: 'events', key: 'a', value: 'a is 1', headers: {} };
  let compressions: unknown[];
  let partition: KeyedStatePartition<number>;
  let owned: Owned;
  let owners: number;

  /** Kafka takes records of the partition itself and returns them in a fetch; it ignores uncompressed events. */
  const sendBatch = ({ topicMessages = [], compression }: ProducerBatch): Promise<[]> => {
    const messages = topicMessages.flatMap((of) => (of.topic === NAME ? of.messages : []));
    setImmediate(() => partition.acceptFetched(messages.map(asFetched)));
    if (topicMessages.every(({ topic }) => topic === NAME)) return Promise.resolve([]);
    compressions.push(compression);
    return compression === CompressionTypes.GZIP ? Promise.resolve([]) : never;
  };

  beforeEach(async () => {
    jest.useFakeTimers({ doNotFake: ['Date', 'nextTick', 'queueMicrotask', 'setImmediate'] });
    compressions = [];
    owners = 0;
    const kafka = kafkaOf(() => ({ sendBatch, commit: () => Promise.resolve() }));
    const own = (state: Owned): void => {
      owned = state;
      owners += 1;
    };
    partition = partitionOf(kafka, own, () => Promise.resolve());
    partition.startRestoring();
    while (owners === 0) await nextTurn();
  });

  afterEach(async () => {
    let isClosed = false;
    void partition.closePartition().then(() => (isClosed = true));
    await untilAfterSeconds(() => isClosed);
    jest.useRealTimers();
  });

  const untilAfterSeconds = async (isSo: () => boolean): Promise<void> => {
    for (let seconds = 0; !isSo() && seconds < 10; seconds += 1) {
      await jest.advanceTimersByTimeAsync(1000);
      await nextTurn();
    }
    expect(isSo()).toBe(true);
  };

  it('gives a write up after 40 s, restores, and compresses all later writes', async () => {
    let failure: unknown;
    owned.commit([['a', 1]], [EVENT]).catch((error: unknown) => (failure = error));
    await jest.advanceTimersByTimeAsync(39_000);
    expect(failure).toBeUndefined();
    await jest.advanceTimersByTimeAsync(2000);
    expect(String(failure)).toContain('Kafka has not ended it within 40 s');
    // Closing the earlier writer takes seconds, and a pause follows.
    await untilAfterSeconds(() => owners === 2);
    await owned.commit([['a', 1]], [EVENT]);
    await owned.commit([['a', 2]], [EVENT]);
    const { GZIP, None } = CompressionTypes;
    expect(compressions).toEqual([None, GZIP, GZIP]);
  });
});

describe('a partition of state whose topic holds nothing', () => {
  const INPUT = 'erp.work-order-lists.v1';
  const BY_THE_BRIDGE = formatOffsetMetadata('writer.1', {
    ...{ offset: 7, ahead: '', upTo: 7, items: '' },
  });

  /** Logged errors after a restore from a log with these records. */
  const errorsAfter = async (metadata: string | null, ...found: Message[]): Promise<unknown[]> => {
    const errors: unknown[] = [];
    const error = (entry: object): unknown => errors.push(entry);
    Logger.overrideLogger({ log: () => undefined, warn: () => undefined, error });
    const admin = {
      ...{ connect: () => Promise.resolve(), disconnect: () => Promise.resolve() },
      fetchTopicOffsets: () => Promise.resolve([{ partition: 0, low: '0', high: '9' }]),
      fetchOffsets: () =>
        Promise.resolve([{ topic: INPUT, partitions: [{ partition: 0, offset: '7', metadata }] }]),
    };
    const sendBatch = ({ topicMessages = [] }: ProducerBatch): Promise<[]> => {
      const messages = [...found, ...topicMessages.flatMap((of) => of.messages)];
      setImmediate(() => partition.acceptFetched(messages.map(asFetched)));
      return Promise.resolve([]);
    };
    const kafka = kafkaOf(() => ({ sendBatch, commit: () => Promise.resolve() }));
    const options = {
      ...{ kafka: Object.assign(kafka, { admin: () => admin }), name: NAME, groupId: 'group' },
      ...{ inputs: [INPUT], parse: Number, onOwned: () => undefined },
    };
    const partition = new KeyedStatePartition(0, options, fetchControl);
    partition.startRestoring();
    while (!partition.isRestored) await nextTurn();
    await partition.closePartition();
    Logger.overrideLogger(false);
    return errors;
  };

  it('is reported as lost if messages that lead to it were finished', async () => {
    const msg = expect.stringMatching(/^state lost: .*docs\/operations.md/) as string;
    expect(await errorsAfter(BY_THE_BRIDGE)).toEqual([{ msg, topic: NAME, partition: 0 }]);
  });

  it('is not reported before the first message, nor after an earlier restore', async () => {
    expect(await errorsAfter(null)).toEqual([]);
    const earlier = { key: '\u0000restore-mark', value: 'of another process' };
    expect(await errorsAfter(BY_THE_BRIDGE, earlier)).toEqual([]);
  });
});

describe('a partition of state whose keys are hashed over more partitions', () => {
  it('is not owned under the former number if it has grown during its restore', async () => {
    const admin = {
      ...{ connect: () => Promise.resolve(), disconnect: () => Promise.resolve() },
      fetchTopicMetadata: () => Promise.resolve({ topics: [{ name: NAME, partitions: [{}] }] }),
      fetchTopicOffsets: () => Promise.resolve([{ partition: 0, low: '0', high: '2' }]),
    };
    let rounds = 0;
    const sendBatch = ({ topicMessages = [] }: ProducerBatch): Promise<[]> => {
      const messages = topicMessages.flatMap((of) => of.messages);
      if (messages.some(({ key }) => String(key).includes('restore-mark'))) rounds += 1;
      else partition.partitionsAdded(2);
      setImmediate(() => partition.acceptFetched(messages.map(asFetched)));
      return Promise.resolve([]);
    };
    const kafka = kafkaOf(() => ({ sendBatch, commit: () => Promise.resolve() }));
    const owned: Owned[] = [];
    const options = {
      ...{ kafka: { ...kafka, admin: () => admin } as unknown as KafkaClient, name: NAME },
      ...{ placement: { topic: NAME }, groupId: 'group' },
      parse: (json: unknown) => json as number,
      onOwned: (state: Owned) => void owned.push(state),
    };
    const partition = new KeyedStatePartition(0, options, fetchControl);
    partition.startRestoring();
    while (rounds < 2) await nextTurn();
    await partition.closePartition();
    expect(owned).toHaveLength(0);
  });
});

describe('a partition of state whose writes Kafka refuses', () => {
  const EVENT = { topic: 'events', key: 'a', value: 'a is 1', headers: {} };
  const FORBIDDEN = 'events must not be written to';
  let forbidden: boolean;
  let nowMs: number;
  let pauses: number[];
  let warnings: unknown[];
  let partition: KeyedStatePartition<number>;
  let owned: Owned;
  let whenOwned: () => void;

  /** Kafka accepts records of the partition itself, and returns them. */
  const sendBatch = ({ topicMessages = [] }: ProducerBatch): Promise<[]> => {
    if (forbidden && topicMessages.some(({ topic }) => topic === EVENT.topic)) {
      return Promise.reject(new Error(FORBIDDEN));
    }
    const messages = topicMessages.flatMap((of) => (of.topic === NAME ? of.messages : []));
    setImmediate(() => partition.acceptFetched(messages.map(asFetched)));
    return Promise.resolve([]);
  };

  beforeEach(async () => {
    forbidden = true;
    nowMs = 0;
    pauses = [];
    warnings = [];
    Logger.overrideLogger({
      log: () => undefined,
      error: () => undefined,
      warn: (entry: object) => warnings.push(entry),
    });
    jest.spyOn(performance, 'now').mockImplementation(() => nowMs);
    jest.spyOn(Math, 'random').mockReturnValue(1);
    const transaction = {
      sendBatch,
      commit: () => Promise.resolve(),
      abort: () => Promise.resolve(),
    };
    partition = partitionOf(
      kafkaOf(() => transaction),
      (state) => {
        owned = state;
        whenOwned();
      },
      (ms) => {
        pauses.push(ms);
        nowMs += ms;
        return Promise.resolve();
      },
    );
    const first = ownedAnew();
    partition.startRestoring();
    await first;
  });

  afterEach(async () => {
    Logger.overrideLogger(false);
    await partition.closePartition();
  });

  const ownedAnew = (): Promise<void> => new Promise((resolve) => (whenOwned = resolve));

  const failToWrite = async (): Promise<void> => {
    const anew = ownedAnew();
    await expect(owned.commit([['a', 1]], [EVENT])).rejects.toThrow(FORBIDDEN);
    expect(partition.isRestored).toBe(false);
    await anew;
  };

  it('is restored after a pause that grows up to half a minute, and logs it each time', async () => {
    for (let failures = 1; failures <= 10; failures += 1) await failToWrite();
    expect(pauses).toEqual([200, 400, 800, 1600, 3200, 6400, 12_800, 25_600, 30_000, 30_000]);
    const said = { msg: 'state not written', name: NAME, partition: 0 };
    expect(warnings).toEqual(
      pauses.map((_, index) => {
        return { ...said, failures: index + 1, error: `Error: ${FORBIDDEN}` };
      }),
    );
  });

  it('counts as a problem after some seconds, until a write succeeds', async () => {
    await failToWrite();
    expect(partition.stateProblem).toBeUndefined();
    for (let failures = 2; failures <= 6; failures += 1) await failToWrite();
    expect(partition.stateProblem).toBe(`${NAME}, partition 0: Error: ${FORBIDDEN}`);
    // does not concern the topic that may be at fault
    await owned.commit([['a', 1]], []);
    expect(partition.stateProblem).toBeDefined();
    forbidden = false;
    await owned.commit([['a', 1]], [EVENT]);
    expect(partition.stateProblem).toBeUndefined();
    forbidden = true;
    pauses = [];
    await failToWrite();
    expect(pauses).toEqual([200]);
  });

  it('no longer counts as a problem when nothing has failed for two minutes', async () => {
    for (let failures = 1; failures <= 6; failures += 1) await failToWrite();
    nowMs += 110_000;
    expect(partition.stateProblem).toBeDefined();
    nowMs += 10_000;
    expect(partition.stateProblem).toBeUndefined();
  });

  it('shows a change at once, and returns its record', () => {
    const record = owned.put('a', 2);
    expect(record).toEqual({
      ...{ topic: NAME, partition: 0, key: 'a', value: '2', headers: {}, isState: true },
    });
    expect(owned.get('a')).toBe(2);
    expect(owned.put('a', null)).toMatchObject({ key: 'a', value: null });
    expect([owned.get('a'), [...owned.keys()]]).toEqual([undefined, []]);
  });
});

describe('PackedJson', () => {
  const again = (packed: PackedJson, text: string): unknown => packed.unpack(packed.pack(text));

  it('returns any JSON as it was', () => {
    const packed = new PackedJson();
    fc.assert(
      fc.property(fc.json(), (text) => {
        const value: unknown = JSON.parse(text);
        expect(JSON.stringify(again(packed, text))).toBe(JSON.stringify(value));
      }),
    );
  });

  it('returns objects used as maps, however many keys they have had', () => {
    const packed = new PackedJson();
    for (let number = 0; number < 1000; number += 1) {
      const value = { byMachine: { [`M-${number}`]: [1, { a: number }] }, last: [number] };
      expect(again(packed, JSON.stringify(value))).toEqual(value);
    }
  });

  it.each([
    '{"__proto__":1,"a":2}',
    '{"constructor":1}',
    '{"2":"b","1":"a"}',
    '[[-1],[0],[]]',
    '0',
  ])('is not misled by %s', (text) => {
    expect(JSON.stringify(again(new PackedJson(), text))).toBe(JSON.stringify(JSON.parse(text)));
  });

  it('takes less than half for similar values', () => {
    const period = { state: 'OFF', startTime: 1763680000, previousState: null, revision: 0 };
    const text = JSON.stringify({ displayName: 'Lathe', periods: [period, period], replaced: [] });
    expect(new PackedJson().pack(text).length).toBeLessThan(text.length / 2);
  });
});

describe.each([
  ['as they are stored', false],
  ['without the names of fields', true],
])('StoredValues, %s', (_, isPacked) => {
  let values: StoredValues<number>;

  beforeEach(() => {
    const texts = new Map([
      ['M-1', '1'],
      ['M-2', '"two"'],
      ['M-3', '{"n":'],
    ]);
    const parse = (json: unknown) => (typeof json === 'number' ? json : undefined);
    values = new StoredValues(texts, parse, isPacked);
  });

  it('reads stored values, and treats unreadable ones as absent', () => {
    expect(values.get('M-1')).toBe(1);
    expect(['M-2', 'M-3', 'M-4'].map((key) => values.get(key))).toEqual(Array(3).fill(undefined));
    expect([...values.entries()]).toEqual([['M-1', 1]]);
  });

  it('lists the keys without parsing values', () => {
    expect([...values.keys()]).toEqual(['M-1', 'M-2', 'M-3']);
  });

  it('stores new values, and deletes them', () => {
    values.put('M-2', '2');
    values.put('M-1', null);
    expect([...values.entries()]).toEqual([['M-2', 2]]);
  });
});
