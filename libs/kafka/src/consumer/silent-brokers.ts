import { realNowMs, withDeadline } from '#libs/clock';
import type { FetchedEnds } from '../client/kafka-port.js';

/** Part of kafkajs's requests for records that its types lack. */
export interface FetchRequest {
  maxWaitTime: number;
  topics: readonly FetchedTopic[];
}
export interface FetchedTopic {
  topic: string;
  partitions: readonly { partition: number }[];
}
export interface Fetched {
  responses: readonly { topicName: string; partitions: readonly FetchedEnds[] }[];
}
export type Fetch = (request: FetchRequest) => Promise<Fetched>;

/** A fetch takes 250 ms at most, unless the broker delays its answer. */
const FETCH_DUE_MS = 2000;
/** Longer than a quota delays an answer. */
const SILENT_AFTER_MS = 15_000;
/** A broker that has not been asked lately leads no assigned partition that is fetched. */
const ASKED_WITHIN_MS = 10_000;

/** The brokers that do not answer fetches. */
export class SilentBrokers {
  /** Since when (real milliseconds), by address. */
  private readonly silent = new Map<string, { sinceMs: number; askedMs: number }>();

  /** For `/health/ready`. */
  get problems(): string[] {
    const nowMs = realNowMs();
    return [...this.silent].flatMap(([broker, { sinceMs, askedMs }]) =>
      nowMs - sinceMs >= SILENT_AFTER_MS && nowMs - askedMs < ASKED_WITHIN_MS
        ? [`broker ${broker} does not answer, nothing is read of the partitions that it leads`]
        : [],
    );
  }

  /**
   * Returns an empty fetch if the broker delays its answer, as it does for ten seconds when a quota is exceeded.
   * kafkajs sends heartbeats only between fetches, and the session lasts eight seconds. The late answer serves the
   * next fetch of the same topics; a fetch of others drops it.
   */
  answeredInTime(broker: { readonly brokerAddress: string; fetch: Fetch }): Fetch {
    const fetch = broker.fetch.bind(broker);
    let late: { topics: FetchRequest['topics']; answer: Promise<Fetched> } | undefined;
    return async (request) => {
      const { topics } = request;
      const held = late;
      late = undefined;
      const isSame = held !== undefined && JSON.stringify(held.topics) === JSON.stringify(topics);
      const answer = isSame ? held.answer : fetch(request);
      if (await withDeadline(answer, FETCH_DUE_MS)) {
        const fetched = await answer;
        this.silent.delete(broker.brokerAddress);
        return fetched;
      }
      const nowMs = realNowMs();
      const known = this.silent.get(broker.brokerAddress);
      const isOld = known !== undefined && nowMs - known.askedMs >= ASKED_WITHIN_MS;
      const sinceMs = isOld ? nowMs : (known?.sinceMs ?? nowMs);
      this.silent.set(broker.brokerAddress, { sinceMs, askedMs: nowMs });
      late = { topics, answer };
      return { responses: [] };
    };
  }
}
