import { everyRealMs } from '#libs/clock';
import { describeKafkaFailure } from '../client/describe-kafka-failure.js';
import { type Consumer } from '../kafkajs.js';
import { type Assignment, type EmptyFetch } from './consumer-callbacks.js';
import { SESSION_TIMEOUT_MS } from './create-consumer.js';
import { type RestBeforeJoin } from './rest-before-join.js';
import { type SessionLease } from './session-lease.js';

/** Joining may wait for other members to finish what they have; longer is taken for a hang. */
const JOIN_TIMEOUT_MS = 60_000;
/** A rebalance takes the rest before it and the wait for all members, and not longer. */
const REBALANCE_TIMEOUT_MS = 30_000;
/** kafkajs tries to join twice a second at least; until then fetches from other brokers go on, and heartbeats with them. */
const JOIN_DUE_MS = 1000;

export interface WatchOptions {
  lease: SessionLease;
  rest: RestBeforeJoin;
  /** False once this one is given up: what it says then is of no interest. */
  isCurrent: () => boolean;
  isJoined: () => boolean;
  onSign: () => void;
  onEmptyFetch: (fetch: EmptyFetch) => void;
  /** `memberId` is another one when the coordinator had given this process up meanwhile. */
  onJoined: (memberId: string, assignment: Assignment) => void;
}

/** Listens to what kafkajs tells of a consumer; `end` resolves with why it is of no use any more. */
export function watchConsumer(
  consumer: Consumer,
  options: WatchOptions,
): { end: Promise<string>; stop: () => void } {
  const { lease, rest, isCurrent, isJoined, onSign, onJoined } = options;
  const { CRASH, END_BATCH_PROCESS, GROUP_JOIN, HEARTBEAT, REBALANCING, REQUEST } = consumer.events;
  let heartbeatSentAtMs = 0;
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
      lease.renew(heartbeatSentAtMs === 0 ? undefined : heartbeatSentAtMs);
      onSign();
      // kafkajs has given the join up and goes on as before, where calls stay held: it will not come to it.
      if (heartbeatSentAtMs > rest.doneEpochMs + JOIN_DUE_MS) {
        resolve('a rebalance was not gone through with');
      }
    });
    stop = everyRealMs(1000, () => {
      const silenceMs = !isJoined() || rest.isWanted ? JOIN_TIMEOUT_MS : SESSION_TIMEOUT_MS;
      if (lease.ageMs > silenceMs) resolve('no sign of the group coordinator');
      if (isJoined() && rest.lastsMs > REBALANCE_TIMEOUT_MS) resolve('a rebalance does not end');
    });
  });
  consumer.on(END_BATCH_PROCESS, ({ payload }) => {
    if (payload.batchSize === 0 && isCurrent()) options.onEmptyFetch(payload);
  });
  consumer.on(REBALANCING, () => {
    if (isCurrent()) rest.begin();
  });
  consumer.on(GROUP_JOIN, ({ payload }) => {
    if (!isCurrent()) return;
    // The assignment may have lain in the socket while the process was suspended.
    lease.renew(syncSentAtMs);
    onJoined(payload.memberId, new Map(Object.entries(payload.memberAssignment)));
    // What is lost must be known before whatever waits for the session goes on.
    onSign();
  });
  return { end, stop };
}
