import { jest } from '@jest/globals';
import { Logger } from '@nestjs/common';
import { realEpochMs } from '#libs/clock';
import type { KafkaClient } from '../client/kafka-port.js';
import { eventually, nextTurn, until } from '../testing/wait.js';
import { RevocationBarrier, SessionLease, SupervisedConsumer } from './supervised-consumer.js';

/** A kafkajs consumer whose events the test emits. */
class TalkingConsumer {
  readonly events = Object.fromEntries(
    ['CRASH', 'GROUP_JOIN', 'HEARTBEAT', 'REBALANCING', 'REQUEST'].map((name) => [name, name]),
  );
  readonly connect = (): Promise<void> => Promise.resolve();
  readonly subscribe = this.connect;
  readonly run = this.connect;
  readonly disconnect = this.connect;
  private readonly listeners = new Map<string, (event: object) => void>();

  on(event: string, listener: (event: object) => void): void {
    this.listeners.set(event, listener);
  }

  says(event: string, payload: object = {}): void {
    this.listeners.get(event)?.({ payload });
  }
}

describe('SupervisedConsumer', () => {
  const SUSPENDED_MS = 20_000;
  const assigned = { memberId: 'A', memberAssignment: { topic: [0] } };
  let talking: TalkingConsumer;
  let consumer: SupervisedConsumer;
  let owned: number[];
  let callsEnd: () => void;

  beforeEach(() => {
    talking = new TalkingConsumer();
    owned = [];
    const kafka = { consumer: () => talking } as unknown as KafkaClient;
    consumer = new SupervisedConsumer(kafka, 'group', {
      onBatch: () => undefined,
      onAssigned: (assignment) => owned.push(assignment.size),
      onRevoking: () =>
        new Promise((resolve) => {
          callsEnd = resolve;
        }),
      onMembershipConfirmed: () => undefined,
      onEnds: () => undefined,
    });
    consumer.start(['topic']);
  });

  afterEach(() => consumer.stop());

  it.each([
    ['heartbeat', 'Heartbeat', 'HEARTBEAT', {}],
    ['assignment', 'SyncGroup', 'GROUP_JOIN', assigned],
  ])(
    'holds the session as of when the %s was asked for: its answer may have lain there since',
    (_, apiName, event, payload) => {
      talking.says('REQUEST', { apiName, createdAt: realEpochMs() - SUSPENDED_MS });
      talking.says(event, payload);
      expect(consumer.holdsSession).toBe(false);
      talking.says('REQUEST', { apiName, createdAt: realEpochMs() });
      talking.says(event, payload);
      expect(consumer.holdsSession).toBe(true);
    },
  );

  it('logs its group when it ends, as a process may be in several', async () => {
    const logged = jest.spyOn(Logger.prototype, 'error').mockImplementation(() => undefined);
    talking.says('CRASH', { error: new Error('away') });
    await until(() => logged.mock.calls.length > 0);
    const lines = logged.mock.calls.map(([line]) => line as object);
    callsEnd();
    expect(lines).toMatchObject([{ msg: 'consumer ended, starting anew', groupId: 'group' }]);
  });

  it('is replaced if it does not join, but not while calls keep it from joining', async () => {
    const heartbeatIn = async (ms: number): Promise<void> => {
      talking.says('REQUEST', { apiName: 'Heartbeat', createdAt: realEpochMs() + ms });
      talking.says('HEARTBEAT');
      await nextTurn();
    };
    talking.says('REBALANCING');
    // another broker's fetches go on while a call lasts
    await heartbeatIn(4000);
    callsEnd();
    await nextTurn();
    await heartbeatIn(500);
    expect(consumer.endedBecause).toBeUndefined();
    await heartbeatIn(4000);
    await eventually('it is replaced', () => consumer.endedBecause !== undefined);
    expect(consumer.endedBecause).toBe('a rebalance was not gone through with');
  });

  it('ignores assignments once it is stopped', async () => {
    await consumer.stop();
    talking.says('GROUP_JOIN', assigned);
    expect(owned).toEqual([]);
  });
});

describe('RevocationBarrier', () => {
  let deadlines: number[];
  let mayLastMs: number;
  let drain: () => void;
  let barrier: RevocationBarrier;

  beforeEach(() => {
    deadlines = [];
    mayLastMs = 7000;
    const begin = (deadlineMs: number): Promise<void> => {
      deadlines.push(deadlineMs);
      return new Promise((resolve) => {
        drain = resolve;
      });
    };
    barrier = new RevocationBarrier(begin, () => mayLastMs);
  });

  /** As kafkajs joins: it retries while the hook throws that the group is rebalancing. */
  const refusal = (): unknown => {
    try {
      barrier.assertDrained();
      return undefined;
    } catch (error) {
      return error;
    }
  };

  it('keeps the member from joining until no call is in flight, with an error that kafkajs retries', async () => {
    expect(barrier.isRaised).toBe(false);
    expect(refusal()).toMatchObject({ type: 'REBALANCE_IN_PROGRESS' });
    expect(refusal()).toBeInstanceOf(Error);
    expect([barrier.isRaised, barrier.drainedEpochMs]).toEqual([true, Infinity]);
    drain();
    await barrier.raiseBarrier().drained;
    expect(refusal()).toBeUndefined();
    expect(barrier.isRaised).toBe(true);
    expect(barrier.drainedEpochMs).toBeLessThanOrEqual(realEpochMs());
  });

  it('drains once for each rebalance, from its first sign, with a deadline', async () => {
    mayLastMs = 500;
    const { drained } = barrier.raiseBarrier();
    mayLastMs = 7000;
    expect(refusal()).toBeDefined();
    expect(barrier.raiseBarrier().drained).toBe(drained);
    drain();
    await drained;
    barrier.lowerBarrier();
    expect([barrier.isRaised, barrier.drainedEpochMs]).toEqual([false, Infinity]);
    expect(refusal()).toBeDefined();
    expect(deadlines).toEqual([500, 7000]);
    drain();
    await barrier.raiseBarrier().drained;
    expect(refusal()).toBeUndefined();
  });

  it('does not confuse the end of an earlier drain with that of a later one', async () => {
    const earlier = barrier.raiseBarrier();
    const endEarlier = drain;
    barrier.lowerBarrier();
    barrier.raiseBarrier();
    endEarlier();
    await earlier.drained;
    expect(refusal()).toBeDefined();
  });
});

describe('SessionLease', () => {
  let monotonicMs: number;
  let wallMs: number;
  let lease: SessionLease;

  beforeEach(() => {
    monotonicMs = 5000;
    wallMs = 1_763_680_000_000;
    jest.spyOn(performance, 'now').mockImplementation(() => monotonicMs);
    jest.spyOn(Date, 'now').mockImplementation(() => wallMs);
    lease = new SessionLease();
  });

  const pass = (ms: number): void => {
    monotonicMs += ms;
    wallMs += ms;
  };

  it('counts from when the request was sent, not from when its answer was read', () => {
    expect(lease.ageMs).toBe(Infinity);
    const sentAtMs = wallMs;
    pass(20_000);
    lease.renew(sentAtMs);
    pass(500);
    expect(lease.ageMs).toBe(20_500);
  });

  it('grows while the machine is suspended, when only the wall clock goes on', () => {
    lease.renew();
    wallMs += 60_000;
    expect(lease.ageMs).toBe(60_000);
  });

  it('grows though the wall clock is set back', () => {
    lease.renew();
    pass(3000);
    wallMs -= 60_000;
    expect(lease.ageMs).toBe(3000);
  });
});
