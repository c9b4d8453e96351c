import { Logger } from '@nestjs/common';
import { everyRealMs, realDelayMs, realEpochMs, realNowMs, withDeadline } from '#libs/clock';
import { backOffMs } from '#libs/delivery';
import { describeKafkaFailure } from '../client/describe-kafka-failure.js';
import type {
  Batch,
  Consumer,
  FetchControl,
  FetchedEnds,
  KafkaClient,
  PartitionAssignment,
} from '../client/kafka-port.js';
import { absentTopics, isAbsentTopic } from '../reading/topics.js';
import { createGroupConsumer, PendingJoin, SESSION_TIMEOUT_MS } from './group-consumer.js';
import { ASK_AGAIN_MS, UnreadableTopics } from './unreadable-topics.js';

export interface ConsumerCallbacks {
  /** Receives a fetch of one partition, also one of markers, aborted or compacted records alone: without a message. */
  onBatch: (batch: Batch) => void;
  /** Receives the ends of a partition from each fetch, also from an empty one. */
  onEnds: (topic: string, ends: FetchedEnds) => void;
  /** Receives the partitions that this process owns after each rebalance; none once it has left the group. */
  onAssigned: (assignment: PartitionAssignment) => void;
  /** Keeps calls from beginning until {@link onAssigned}; resolves once none is in flight, or after `deadlineMs`. */
  onRevoking: (deadlineMs: number) => Promise<void>;
  onMembershipConfirmed: () => void;
}

export type ConsumerState = 'starting' | 'running' | 'broken' | 'stopped';

const RESTART_BACK_OFF = { baseMs: 500, capMs: 10_000 };
const DISCONNECT_DEADLINE_MS = 3000;
/** A member that has lasted this long starts the back-off from its base again. */
const HEALTHY_MS = 60_000;
const SESSION_MARGIN_MS = 1000;
/** Time that calls under way get before partitions are revoked, if the session lasts as long. */
const DRAIN_DEADLINE_MS = 5000;
/** Joining may wait for other members to drain; a longer wait counts as a hang. */
const JOIN_TIMEOUT_MS = 60_000;
/** Covers the drain before a rebalance and the wait for all members. */
const REBALANCE_TIMEOUT_MS = 30_000;
/** kafkajs tries to join at least twice a second; heartbeats and fetches from other brokers go on in between. */
const JOIN_DUE_MS = 1000;

/**
 * A kafkajs consumer that is replaced whenever it crashes or falls silent. kafkajs restarts only after errors that it
 * calls retriable; after any other it stays alive and fetches nothing. So its own restart is switched off, and every
 * end is treated alike.
 *
 * States: *starting*, *running* (partitions are assigned), *broken* (the consumer has ended, and is replaced after a
 * back-off), *stopped*.
 */
export class SupervisedConsumer implements FetchControl {
  state: ConsumerState = 'starting';
  endedBecause: string | undefined;
  readonly unreadable = new UnreadableTopics();
  private readonly logger = new Logger('Consumer');
  private readonly stopping = new AbortController();
  private readonly lease = new SessionLease();
  private readonly barrier: RevocationBarrier;
  private readonly pendingJoin: PendingJoin;
  private consumer: Consumer | undefined;
  /** Whether partitions are assigned: otherwise kafkajs refuses to pause and seek. */
  private isJoined = false;
  private memberId: string | undefined;
  /** Generations of the group at the last assignment and at the last join. */
  private generation: number | undefined;
  private joinedGeneration: number | undefined;
  private topics: readonly string[] = [];
  private needed: readonly string[] = [];

  constructor(
    private readonly kafka: KafkaClient,
    private readonly groupId: string,
    private readonly callbacks: ConsumerCallbacks,
  ) {
    this.pendingJoin = new PendingJoin(kafka, groupId);
    this.barrier = new RevocationBarrier(
      (ms) => callbacks.onRevoking(ms),
      () => Math.min(DRAIN_DEADLINE_MS, this.sessionLeftMs),
    );
  }

  /** Whether no other process can own the partitions; knows after a suspension before timers and heartbeats do. */
  get holdsSession(): boolean {
    return this.sessionLeftMs > 0;
  }

  private get sessionLeftMs(): number {
    return Math.max(0, SESSION_TIMEOUT_MS - SESSION_MARGIN_MS - this.lease.ageMs);
  }

  /** Returns at once. While a `needed` topic is absent nothing is read; absent `topics` are left out meanwhile. */
  start(topics: readonly string[], needed: readonly string[] = []): void {
    this.topics = topics;
    this.needed = needed;
    void this.supervise();
  }

  async stop(): Promise<void> {
    this.state = 'stopped';
    this.stopping.abort(new Error('the consumer is stopping'));
    await this.pendingJoin.leaveGroup();
    await this.disconnectConsumer();
  }

  pause(topic: string, partition: number): void {
    this.whileJoined((consumer) => consumer.pause([{ topic, partitions: [partition] }]));
  }

  resume(topic: string, partition: number): void {
    this.whileJoined((consumer) => consumer.resume([{ topic, partitions: [partition] }]));
  }

  seek(topic: string, partition: number, offset: number): void {
    this.whileJoined((consumer) => consumer.seek({ topic, partition, offset: String(offset) }));
  }

  /** Ignores the refusal by a consumer that is ending: its pauses and positions end with it. */
  private whileJoined(ask: (consumer: Consumer) => void): void {
    try {
      if (this.consumer !== undefined && this.isJoined) ask(this.consumer);
    } catch (error) {
      this.logger.debug({ msg: 'refused by a consumer that is ending', error: String(error) });
    }
  }

  private isStopping(): boolean {
    return this.stopping.signal.aborted;
  }

  private async supervise(): Promise<void> {
    for (let failures = 1; !this.isStopping(); failures += 1) {
      const startedMs = realNowMs();
      const end = await this.consumeUntilEnd().catch((error: unknown) => this.joinFailure(error));
      this.isJoined = false;
      if (this.isStopping()) return;
      this.state = 'broken';
      this.endedBecause = end;
      const msg = 'consumer ended, starting anew';
      this.logger.error({ msg, groupId: this.groupId, why: end });
      await this.drainBeforeLeave();
      this.barrier.lowerBarrier();
      this.callbacks.onAssigned(new Map());
      await this.disconnectConsumer();
      if (realNowMs() - startedMs > HEALTHY_MS) failures = 1;
      const pauseMs = backOffMs(failures, RESTART_BACK_OFF);
      await realDelayMs(pauseMs, this.stopping.signal).catch(() => undefined);
    }
  }

  /** Returns why joining failed, and leaves absent topics out of the next subscription, unless one is needed. */
  private async joinFailure(error: unknown): Promise<string> {
    const why = `cannot join: ${describeKafkaFailure(error, { right: 'Read' })}`;
    if (!isAbsentTopic(error)) return why;
    try {
      const { topics, needed } = this;
      const absent = await absentTopics(this.kafka, [...topics, ...needed]);
      const isLast = absent.size === topics.length + needed.length;
      if (!isLast && !needed.some((topic) => absent.has(topic))) this.unreadable.leaveOut(absent);
      return absent.size === 0 ? why : `cannot join: ${[...absent.values()].join('; ')}`;
    } catch {
      return why;
    }
  }

  /** Resolves once a topic that the subscription leaves out exists; never resolves if it leaves out none. */
  private async untilTopicPresent(isCurrent: () => boolean): Promise<string> {
    const { kafka, unreadable, stopping } = this;
    const { absent } = unreadable;
    while (absent.size > 0 && isCurrent()) {
      await realDelayMs(ASK_AGAIN_MS, stopping.signal);
      const stillAbsent = await absentTopics(kafka, absent.keys()).catch(() => absent);
      if (stillAbsent.size === absent.size || !isCurrent()) continue;
      unreadable.leaveOut(stillAbsent);
      return 'a topic that was left out is there';
    }
    return new Promise(() => undefined);
  }

  /** Drains calls before the consumer leaves the group, for as long as the session lasts. */
  private async drainBeforeLeave(): Promise<void> {
    // A stop has drained already.
    if (this.isStopping()) return;
    await this.barrier.raiseBarrier().drained;
  }

  /** Connects and consumes; resolves with the reason of its end. */
  private async consumeUntilEnd(): Promise<string> {
    let isOver = false;
    const isCurrent = (): boolean => !isOver && consumer === this.consumer && !this.isStopping();
    const consumer = createGroupConsumer(this.kafka, this.groupId, {
      endsFetched: (topic, ends) => {
        if (consumer === this.consumer) this.callbacks.onEnds(topic, ends);
      },
      unreadable: this.unreadable,
      beforeJoin: () => {
        // kafkajs goes on until it has stopped: a replaced consumer must neither join nor raise the barrier.
        if (!isCurrent()) throw new Error('this consumer is given up');
        this.barrier.assertDrained();
      },
      // A replaced consumer has drained already; it must not hold up its successor.
      beforeLeave: () => (consumer === this.consumer ? this.drainBeforeLeave() : Promise.resolve()),
      joinsAs: (memberId) => {
        // The coordinator gives a new member its id, under which kafkajs then asks again.
        if (!isCurrent()) throw new Error('this consumer is given up');
        this.pendingJoin.joinsAs(memberId);
      },
      beforeSync: (generation) => {
        if (consumer === this.consumer) this.joinedGeneration = generation;
      },
    });
    this.consumer = consumer;
    this.lease.renew();
    const { end, stop } = this.watchConsumer(consumer, isCurrent);
    try {
      const consuming = this.consume(consumer).then(() => end);
      return await Promise.race([end, consuming, this.untilTopicPresent(isCurrent)]);
    } finally {
      isOver = true;
      stop();
    }
  }

  /** Listens to a consumer while it is current; `end` resolves with the reason for its replacement. */
  private watchConsumer(
    consumer: Consumer,
    isCurrent: () => boolean,
  ): { end: Promise<string>; stop: () => void } {
    const { lease, barrier, callbacks } = this;
    const { CRASH, GROUP_JOIN, HEARTBEAT, REBALANCING, REQUEST } = consumer.events;
    let heartbeatSentAtMs: number | undefined;
    let syncSentAtMs: number | undefined;
    let stop = (): void => undefined;
    const end = new Promise<string>((resolve) => {
      consumer.on(CRASH, ({ payload }) => {
        resolve(describeKafkaFailure(payload.error, { right: 'Read' }));
      });
      consumer.on(REQUEST, ({ payload: { apiName, createdAt } }) => {
        // Not `sentAt`: kafkajs sets it after the request has left, and the process may be suspended in between.
        if (apiName === 'Heartbeat') heartbeatSentAtMs = createdAt;
        if (apiName === 'SyncGroup') syncSentAtMs = createdAt;
      });
      consumer.on(HEARTBEAT, () => {
        if (!isCurrent()) return;
        lease.renew(heartbeatSentAtMs);
        callbacks.onMembershipConfirmed();
        // kafkajs has given up joining and goes on fetching, while calls stay paused.
        if ((heartbeatSentAtMs ?? 0) > barrier.drainedEpochMs + JOIN_DUE_MS) {
          resolve('a rebalance was not gone through with');
        }
      });
      stop = everyRealMs(1000, () => {
        const { isJoined } = this;
        if (isJoined && isCurrent()) this.unreadable.checkLeaders([...this.topics, ...this.needed]);
        const silenceMs = !isJoined || barrier.isRaised ? JOIN_TIMEOUT_MS : SESSION_TIMEOUT_MS;
        if (lease.ageMs > silenceMs) resolve('no sign of the group coordinator');
        if (isJoined && barrier.raisedForMs > REBALANCE_TIMEOUT_MS)
          resolve('a rebalance does not end');
      });
    });
    consumer.on(REBALANCING, () => {
      if (isCurrent()) barrier.raiseBarrier();
    });
    consumer.on(GROUP_JOIN, ({ payload: { memberId, memberAssignment } }) => {
      if (!isCurrent()) return;
      this.pendingJoin.recordAssignment();
      // The assignment may have waited in the socket while the process was suspended.
      lease.renew(syncSentAtMs);
      this.acceptAssignment(memberId, new Map(Object.entries(memberAssignment)));
      // Revoked partitions must be known before calls that wait for the session go on.
      callbacks.onMembershipConfirmed();
    });
    return { end, stop };
  }

  /** The coordinator gives a member that it has removed another `memberId`. */
  private acceptAssignment(memberId: string, assignment: PartitionAssignment): void {
    this.state = 'running';
    this.barrier.lowerBarrier();
    this.isJoined = true;
    // If the member has not stayed, other members have owned the partitions, possibly only in a generation that this
    // one missed between its join and its assignment. Partitions that are assigned again are then opened as new. A
    // coordinator that has moved to another broker assigns the same partitions in the same generation.
    const generations = (this.joinedGeneration ?? 0) - (this.generation ?? 0);
    const hasStayed = memberId === this.memberId && (generations === 0 || generations === 1);
    if (!hasStayed) this.callbacks.onAssigned(new Map());
    this.memberId = memberId;
    this.generation = this.joinedGeneration;
    this.callbacks.onAssigned(assignment);
  }

  private async consume(consumer: Consumer): Promise<void> {
    await consumer.connect();
    const { absent } = this.unreadable;
    const topics = [...this.topics, ...this.needed].filter((topic) => !absent.has(topic));
    await consumer.subscribe({ topics, fromBeginning: true });
    await consumer.run({
      autoCommit: false,
      partitionsConsumedConcurrently: 8,
      eachBatch: (payload) => {
        // A batch fetched before a seek is stale.
        if (consumer === this.consumer && !payload.isStale()) this.callbacks.onBatch(payload.batch);
        return Promise.resolve();
      },
    });
  }

  /** kafkajs's disconnect() waits without a limit when the broker is gone. */
  private async disconnectConsumer(): Promise<void> {
    const consumer = this.consumer;
    this.consumer = undefined;
    this.isJoined = false;
    await withDeadline(consumer?.disconnect(), DISCONNECT_DEADLINE_MS);
  }
}

/** The age of the coordinator's latest confirmation that this process is a member. */
export class SessionLease {
  private monotonicMs = -Infinity;
  private wallMs = -Infinity;

  /** Records a confirmation of the age of its request (real epoch ms): the answer may have waited in a socket. */
  renew(sentAtMs = realEpochMs()): void {
    const ageMs = Math.max(0, realEpochMs() - sentAtMs);
    this.monotonicMs = realNowMs() - ageMs;
    this.wallMs = realEpochMs() - ageMs;
  }

  /** The greater age by two clocks: one stops while the machine is suspended, the other may be set back. */
  get ageMs(): number {
    return Math.max(realNowMs() - this.monotonicMs, realEpochMs() - this.wallMs);
  }
}

interface Draining {
  /** Resolves once no call is in flight, or the deadline has passed. */
  drained: Promise<void>;
  sinceMs: number;
  /** When `drained` resolved, in real epoch milliseconds; Infinity before. */
  drainedEpochMs: number;
}

/**
 * Keeps this member from joining the group again, which revokes its partitions, while calls are in flight for them:
 * the new owner must not call a machine that the old one is still calling. kafkajs has no hook for a revocation.
 *
 * *Lowered*, then *raised* from the first sign of a rebalance, *drained* once no call is in flight, and lowered again
 * with the assignment.
 */
export class RevocationBarrier {
  private current: Draining | undefined;

  /** @param drain keeps calls from beginning; resolves once none is in flight, or after the deadline */
  constructor(
    private readonly drain: (deadlineMs: number) => Promise<void>,
    private readonly deadlineMs: () => number,
  ) {}

  get isRaised(): boolean {
    return this.current !== undefined;
  }

  /** Real epoch milliseconds from which on the member may join; Infinity before. */
  get drainedEpochMs(): number {
    return this.current?.drainedEpochMs ?? Infinity;
  }

  get raisedForMs(): number {
    return this.current === undefined ? 0 : realNowMs() - this.current.sinceMs;
  }

  raiseBarrier(): Draining {
    if (this.current !== undefined) return this.current;
    const draining: Draining = {
      drained: this.drain(this.deadlineMs()),
      sinceMs: realNowMs(),
      drainedEpochMs: Infinity,
    };
    void draining.drained.finally(() => {
      draining.drainedEpochMs = realEpochMs();
    });
    this.current = draining;
    return draining;
  }

  lowerBarrier(): void {
    this.current = undefined;
  }

  /**
   * Throws REBALANCE_IN_PROGRESS until the drain has ended: kafkajs retries joining after this error, and has no
   * other way to wait.
   */
  assertDrained(): void {
    if (this.raiseBarrier().drainedEpochMs < Infinity) return;
    throw Object.assign(new Error('calls are still in flight'), { type: 'REBALANCE_IN_PROGRESS' });
  }
}
