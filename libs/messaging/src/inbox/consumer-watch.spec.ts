import { realEpochMs } from '#libs/clock';
import { type Consumer } from '../kafkajs.js';
import { watchConsumer } from './supervised-consumer.js';
import { RestBeforeJoin } from './rest-before-join.js';
import { SessionLease } from './session-lease.js';

const EVENTS = [
  ...(['CRASH', 'END_BATCH_PROCESS', 'GROUP_JOIN'] as const),
  ...(['HEARTBEAT', 'REBALANCING', 'REQUEST'] as const),
];
type Event = (typeof EVENTS)[number];

/** A kafkajs consumer that says what the test wants it to. */
class TalkingConsumer {
  readonly events = Object.fromEntries(EVENTS.map((name) => [name, name]));
  private readonly listeners = new Map<string, (event: object) => void>();

  on(event: string, listener: (event: object) => void): void {
    this.listeners.set(event, listener);
  }

  says(event: Event, payload: object = {}): void {
    this.listeners.get(event)?.({ payload });
  }
}

const SUSPENDED_MS = 20_000;
const assigned = { memberId: 'A', memberAssignment: {} };

describe('watchConsumer', () => {
  let consumer: TalkingConsumer;
  let lease: SessionLease;
  let isCurrent: boolean;
  let joined: string[];
  let emptyUpTo: string[];
  let rest: RestBeforeJoin;
  let callsEnd: () => void;
  let end: Promise<string>;
  let stop: () => void;

  beforeEach(() => {
    consumer = new TalkingConsumer();
    lease = new SessionLease();
    isCurrent = true;
    joined = [];
    emptyUpTo = [];
    rest = new RestBeforeJoin(
      () =>
        new Promise((resolve) => {
          callsEnd = resolve;
        }),
      () => 5000,
    );
    ({ end, stop } = watchConsumer(consumer as unknown as Consumer, {
      lease,
      rest,
      isCurrent: () => isCurrent,
      isJoined: () => true,
      onSign: () => undefined,
      onEmptyFetch: ({ lastOffset }) => emptyUpTo.push(lastOffset),
      onJoined: (memberId) => joined.push(memberId),
    }));
  });

  afterEach(() => {
    stop();
  });

  it.each([
    ['heartbeat', 'Heartbeat', 'HEARTBEAT', {}],
    ['assignment', 'SyncGroup', 'GROUP_JOIN', assigned],
  ] as const)(
    'holds the session as of when the %s was asked for: its answer may have lain there since',
    (_, apiName, event, payload) => {
      consumer.says('REQUEST', { apiName, createdAt: realEpochMs() - SUSPENDED_MS });
      consumer.says(event, payload);
      expect(lease.ageMs).toBeGreaterThanOrEqual(SUSPENDED_MS);
      consumer.says('REQUEST', { apiName, createdAt: realEpochMs() });
      consumer.says(event, payload);
      expect(lease.ageMs).toBeLessThan(SUSPENDED_MS);
    },
  );

  it('tells of fetches with nothing in them for anybody, while the consumer is not given up', () => {
    consumer.says('END_BATCH_PROCESS', { batchSize: 2, lastOffset: '2' });
    expect(emptyUpTo).toEqual([]);
    consumer.says('END_BATCH_PROCESS', { batchSize: 0, lastOffset: '3' });
    isCurrent = false;
    consumer.says('END_BATCH_PROCESS', { batchSize: 0, lastOffset: '4' });
    expect(emptyUpTo).toEqual(['3']);
  });

  it('gives the consumer up when it does not join though nothing keeps it, and not while calls do', async () => {
    let why: string | undefined;
    void end.then((reason) => {
      why = reason;
    });
    consumer.says('REBALANCING');
    const heartbeatIn = async (ms: number): Promise<string | undefined> => {
      consumer.says('REQUEST', { apiName: 'Heartbeat', createdAt: realEpochMs() + ms });
      consumer.says('HEARTBEAT');
      await Promise.resolve();
      return why;
    };
    // another broker's fetches go on for as long as a call lasts
    expect(await heartbeatIn(4000)).toBeUndefined();
    callsEnd();
    await rest.begin().done;
    expect(await heartbeatIn(500)).toBeUndefined();
    expect(await heartbeatIn(4000)).toBe('a rebalance was not gone through with');
  });

  it('hears nothing of what is assigned to a consumer that is given up', () => {
    isCurrent = false;
    consumer.says('GROUP_JOIN', assigned);
    expect(joined).toEqual([]);
    expect(lease.ageMs).toBe(Infinity);
  });
});
