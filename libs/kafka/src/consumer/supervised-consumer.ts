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
import {
  ASK_AGAIN_MS,
  createGroupConsumer,
  SESSION_TIMEOUT_MS,
  UnreadableTopics,
} from './group-consumer.js';

export interface ConsumerCallbacks {
  /** Takes a fetch of one partition: without a message where it is of markers, aborted or compacted records alone. */
  onBatch: (batch: Batch) => void;
  /** The ends of a partition, as each fetch has them, be there something in it or not. */
  onEnds: (topic: string, ends: FetchedEnds) => void;
  /** The partitions this process owns from now on, after each rebalance; empty once it is out of the group. */
  onAssigned: (assignment: PartitionAssignment) => void;
  /** No call may begin until {@link onAssigned}. Resolves once none is in flight, after `deadlineMs` at the latest. */
  onRevoking: (deadlineMs: number) => Promise<void>;
  onMembershipConfirmed: () => void;
}

export type ConsumerState = 'starting' | 'running' | 'broken' | 'stopped';

const RESTART_BACK_OFF = { baseMs: 500, capMs: 10_000 };
const DISCONNECT_DEADLINE_MS = 3000;
/** The back-off begins again for a member that has lasted this long. */
const HEALTHY_MS = 60_000;
const SESSION_MARGIN_MS = 1000;
/** Calls in flight are waited for this long before partitions are given up, and no longer than the session lasts. */
const DRAIN_DEADLINE_MS = 5000;
/** Joining may wait for other members to drain; longer is taken for a hang. */
const JOIN_TIMEOUT_MS = 60_000;
/** A rebalance takes the drain before it and the wait for all members, and no longer. */
const REBALANCE_TIMEOUT_MS = 30_000;
/** kafkajs tries to join twice a second at least; until then fetches from other brokers and heartbeats go on. */
const JOIN_DUE_MS = 1000;

/**
 * A kafkajs consumer that is replaced whenever it crashes or falls silent. kafkajs restarts itself after errors that it
 * calls retriable only; after any other it stays alive and fetches nothing. So its own restart is off, and every end is
 * treated alike.
 *
 * States: *starting*, *running* (partitions are assigned), *broken* (it has ended, and is replaced after a back-off),
 * *stopped*.
 */
export class SupervisedConsumer implements FetchControl {
  state: ConsumerState = 'starting';
  endedBecause: string | undefined;
  readonly unreadable = new UnreadableTopics();
  private readonly logger = new Logger('Consumer');
  private readonly stopping = new AbortController();
  private readonly lease = new SessionLease();
  private readonly barrier: RevocationBarrier;
  private consumer: Consumer | undefined;
  /** Partitions are assigned: before and after, kafkajs refuses to pause and seek. */
  private isJoined = false;
  private memberId: string | undefined;
  /** Generations of the group: of the last assignment, and of the last join. */
  private generation: number | undefined;
  private joinedGeneration: number | undefined;
  private topics: readonly string[] = [];
  private needed: readonly string[] = [];

  constructor(
    private readonly kafka: KafkaClient,
    private readonly groupId: string,
    private readonly callbacks: ConsumerCallbacks,
  ) {
    this.barrier = new RevocationBarrier(
      (ms) => callbacks.onRevoking(ms),
      () => Math.min(DRAIN_DEADLINE_MS, this.sessionLeftMs),
    );
  }

  /** Whether no other process can own the partitions: after a suspension it knows before timers and heartbeats. */
  get holdsSession(): boolean {
    return this.sessionLeftMs > 0;
  }

  private get sessionLeftMs(): number {
    return Math.max(0, SESSION_TIMEOUT_MS - SESSION_MARGIN_MS - this.lease.ageMs);
  }

  /** Returns at once. Without the `needed` topics nothing is read; of `topics`, those absent are waited for alone. */
  start(topics: readonly string[], needed: readonly string[] = []): void {
    this.topics = topics;
    this.needed = needed;
    void this.supervise();
  }

  async stop(): Promise<void> {
    this.state = 'stopped';
    this.stopping.abort(new Error('the consumer is stopping'));
    await this.dispose();
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

  /** Ignores the refusal of a consumer that is ending: its pauses and positions end with it. */
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
      const end = await this.run().catch((error: unknown) => this.cannotJoin(error));
      this.isJoined = false;
      if (this.isStopping()) return;
      this.state = 'broken';
      this.endedBecause = end;
      const msg = 'consumer ended, starting anew';
      this.logger.error({ msg, groupId: this.groupId, why: end });
      await this.drain();
      this.barrier.lowerBarrier();
      this.callbacks.onAssigned(new Map());
      await this.dispose();
      if (realNowMs() - startedMs > HEALTHY_MS) failures = 1;
      const pauseMs = backOffMs(failures, RESTART_BACK_OFF);
      await realDelayMs(pauseMs, this.stopping.signal).catch(() => undefined);
    }
  }

  /** Why it cannot join, in words. Where a topic is absent, the next attempt does without, if that is not needed. */
  private async cannotJoin(error: unknown): Promise<string> {
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

  /** Resolves once a topic is there that the subscription has left out; never where it has left none out. */
  private async untilPresent(isCurrent: () => boolean): Promise<string> {
    const { kafka, unreadable, stopping } = this;
    const { absent } = unreadable;
    while (absent.size > 0 && isCurrent()) {
      await realDelayMs(ASK_AGAIN_MS, stopping.signal);
      const left = await absentTopics(kafka, absent.keys()).catch(() => absent);
      if (left.size === absent.size || !isCurrent()) continue;
      unreadable.leaveOut(left);
      return 'a topic that was left out is there';
    }
    return new Promise(() => undefined);
  }

  /** Drains calls before the group is left, as long as the session lasts. */
  private async drain(): Promise<void> {
    // A stop has drained before.
    if (this.isStopping()) return;
    await this.barrier.raiseBarrier().drained;
  }

  /** Connects and consumes; resolves with why it ended. */
  private async run(): Promise<string> {
    let isOver = false;
    const isCurrent = (): boolean => !isOver && consumer === this.consumer && !this.isStopping();
    const consumer = createGroupConsumer(this.kafka, this.groupId, {
      endsFetched: (topic, ends) => {
        if (consumer === this.consumer) this.callbacks.onEnds(topic, ends);
      },
      unreadable: this.unreadable,
      beforeJoin: () => {
        // kafkajs goes on by itself until it has stopped: it must neither join nor raise the barrier.
        if (!isCurrent()) throw new Error('this consumer is given up');
        this.barrier.assertDrained();
      },
      // A replaced consumer has drained before; it must not hold up its successor.
      beforeLeave: () => (consumer === this.consumer ? this.drain() : Promise.resolve()),
      beforeSync: (generation) => {
        if (consumer === this.consumer) this.joinedGeneration = generation;
      },
    });
    this.consumer = consumer;
    this.lease.renew();
    const { end, stop } = this.watch(consumer, isCurrent);
    try {
      const consuming = this.consume(consumer).then(() => end);
      return await Promise.race([end, consuming, this.untilPresent(isCurrent)]);
    } finally {
      isOver = true;
      stop();
    }
  }

  /** Listens to a consumer for as long as it is current; `end` resolves with why it must be replaced. */
  private watch(
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
        // Not `sentAt`, which is read after the request has left: the process may be suspended in between.
        if (apiName === 'Heartbeat') heartbeatSentAtMs = createdAt;
        if (apiName === 'SyncGroup') syncSentAtMs = createdAt;
      });
      consumer.on(HEARTBEAT, () => {
        if (!isCurrent()) return;
        lease.renew(heartbeatSentAtMs);
        callbacks.onMembershipConfirmed();
        // kafkajs has given up joining and goes on as before, while calls stay paused.
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
      // The assignment may have lain in the socket while the process was suspended.
      lease.renew(syncSentAtMs);
      this.joined(memberId, new Map(Object.entries(memberAssignment)));
      // Revoked partitions must be known before calls that wait for the session go on.
      callbacks.onMembershipConfirmed();
    });
    return { end, stop };
  }

  /** `memberId` is another one when the coordinator has removed the member meanwhile. */
  private joined(memberId: string, assignment: PartitionAssignment): void {
    this.state = 'running';
    this.barrier.lowerBarrier();
    this.isJoined = true;
    // Otherwise other members have owned the partitions, if only in a generation that this one missed between its join
    // and its assignment: partitions that are assigned again must be taken over like new ones. A coordinator that has
    // moved assigns what it had in the same generation.
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
        // A batch that was fetched before a seek is stale.
        if (consumer === this.consumer && !payload.isStale()) this.callbacks.onBatch(payload.batch);
        return Promise.resolve();
      },
    });
  }

  /** disconnect() waits without a limit when the broker is gone. */
  private async dispose(): Promise<void> {
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

  /** Takes a confirmation, as old as its request (real epoch ms): the answer may have lain in a socket meanwhile. */
  renew(sentAtMs = realEpochMs()): void {
    const ageMs = Math.max(0, realEpochMs() - sentAtMs);
    this.monotonicMs = realNowMs() - ageMs;
    this.wallMs = realEpochMs() - ageMs;
  }

  /** The greater of the ages by two clocks: one stops while the machine is suspended, the other may be set back. */
  get ageMs(): number {
    return Math.max(realNowMs() - this.monotonicMs, realEpochMs() - this.wallMs);
  }
}

interface Draining {
  /** Resolves once no call is in flight, or the deadline has passed. */
  drained: Promise<void>;
  sinceMs: number;
  /** When that was, in real epoch milliseconds; Infinity before. */
  drainedEpochMs: number;
}

/**
 * Keeps this member from joining the group again, which gives its partitions up, while calls are in flight for them:
 * the new owner must not call a machine that the old one is still calling. kafkajs has no hook for a revocation.
 *
 * *Lowered*, then *raised* from the first sign of a rebalance, *drained* once no call is in flight, and lowered again
 * with the assignment.
 */
export class RevocationBarrier {
  private current: Draining | undefined;

  /** @param drain lets no call begin; resolves once none is in flight, or after the deadline */
  constructor(
    private readonly drain: (deadlineMs: number) => Promise<void>,
    private readonly deadlineMs: () => number,
  ) {}

  get isRaised(): boolean {
    return this.current !== undefined;
  }

  /** Real epoch milliseconds since when the member may join; Infinity before. */
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
   * Throws that the group is rebalancing until nothing is under way: kafkajs then tries to join again and again, and
   * waits for nothing else.
   */
  assertDrained(): void {
    if (this.raiseBarrier().drainedEpochMs < Infinity) return;
    throw Object.assign(new Error('calls are still in flight'), { type: 'REBALANCE_IN_PROGRESS' });
  }
}
