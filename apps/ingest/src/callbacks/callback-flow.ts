import { Logger } from '@nestjs/common';
import { realDelayMs, realEpochMs, whenAnyAborts } from '#libs/clock';
import type { IngestCallback, IngestSettings } from '#libs/config';
import { headerText, rfc3339, TOPICS } from '#libs/contracts';
import { backOffMs, CallSlots } from '#libs/delivery';
import { BoundedExpressions } from '#libs/expressions';
import {
  describeKafkaFailure,
  ensureTopics,
  handleEach,
  type InboundMessage,
  type KafkaClient,
  KafkaConsumer,
} from '#libs/kafka';
import { CallbackClient, type Retry } from './callback-client.js';
import { type OutcomeEvent, readOutcomeEvent } from './outcome-event.js';
import { WaitedTime } from './waited-time.js';

/**
 * How an outcome was finished: `delivered`, or `skipped` because the mapping returns nothing; the others are given up:
 * `refused` by the receiver, `expired` without being accepted, `unmapped` because the mapping fails, `failed` by a bug.
 */
type Result = (typeof RESULTS)[number];
const RESULTS = ['delivered', 'skipped', 'refused', 'expired', 'unmapped', 'failed'] as const;

interface Done {
  kind: 'done';
  result: Result;
  why?: string;
}

interface WaitingOutcome {
  message: InboundMessage;
  event: OutcomeEvent;
  waited: WaitedTime;
}

const BACK_OFF = { baseMs: 500, capMs: 60_000 };
const LONGEST_RETRY_AFTER_MS = 3_600_000;
const PREPARE_AGAIN_AFTER_MS = 2000;
/** The whole stop takes at most ten seconds, in which the consumer must also leave its group. */
const FINISH_DEADLINE_MS = 6000;

/**
 * Posts the outcomes of one sender's messages to its callback, in the order in which they are fetched, one at a time.
 *
 * Each sender has its own consumer group, `<KAFKA_GROUP_ID>-callback-<sender>`, so that a dead receiver delays only its
 * own calls, buffer and offsets; the price is that every group reads the whole outcomes topic. All state is in Kafka:
 * the group's offsets. An outcome is finished, and its offset committed, once the receiver has accepted it (2xx) or it
 * is given up. A process that dies before or during the call, or between answer and commit, leaves the outcome to its
 * successor, which posts it again with the same id: at least once, and receivers deduplicate by the id. The consumer
 * pauses partitions whose buffer is full.
 */
export class CallbackFlow {
  readonly calls = new Map<Retry['status'], number>();
  /** Starts with all results at zero: an alert on an increase does not see a counter that appears with 1. */
  readonly outcomes = new Map<Result, number>(RESULTS.map((result) => [result, 0]));
  private readonly logger = new Logger('Callbacks');
  private readonly slots = new CallSlots(1);
  private readonly expressions = new BoundedExpressions();
  private readonly consumer: KafkaConsumer;
  private readonly waiting: WaitingOutcome[] = [];
  private client: CallbackClient;
  private delivering: Promise<void> | undefined;
  /** Failed calls, of any outcome, since the last answer; `since` in real epoch milliseconds. */
  private failing: { count: number; since: number; status: Retry['status'] } | undefined;
  /** Aborted when the callback is replaced, which ends a pause requested by the last receiver. */
  private callbackReplaced = new AbortController();
  private isClosed = false;

  constructor(
    readonly sender: string,
    private callback: IngestCallback,
    private readonly settings: IngestSettings,
    private readonly kafka: KafkaClient,
  ) {
    const { groupId, topicPrefix, commitIntervalMs } = settings.kafka;
    this.client = new CallbackClient(callback, settings.proxy);
    this.consumer = new KafkaConsumer(
      {
        ...{ kafka, topicPrefix, commitIntervalMs, stateTopics: [], calls: this.slots },
        finishDeadlineMs: FINISH_DEADLINE_MS,
        groupId: `${groupId}-callback-${sender}`,
        giveUp: (message) => this.giveUpUnhandled(message),
        prepare: (signal, report) => this.ensureTopic(signal, report),
      },
      (messages) => this.enqueueOutcomes(messages),
    );
  }

  get waitingCount(): number {
    return this.waiting.length;
  }

  get oldestSeconds(): number {
    const [oldest] = this.waiting;
    return oldest === undefined ? 0 : ageMs(oldest.message) / 1000;
  }

  /**
   * Why outcomes cannot be posted, as text; undefined while they can. Anybody who reaches the port may read it: of a
   * failing call it has only the status.
   */
  get deliveryProblem(): string | undefined {
    const { state, startProblem, endedBecause, readProblem, inputs } = this.consumer;
    if (startProblem !== undefined) return `no topic to read: ${startProblem}`;
    if (state === 'broken') return `the topic cannot be read: ${endedBecause}`;
    if (readProblem !== undefined) return `the topic cannot be read: ${readProblem}`;
    const { commitProblem } = inputs;
    if (commitProblem !== undefined) return `nothing can be committed: ${commitProblem}`;
    const { failing } = this;
    // if nothing waits, the partitions were revoked, or the failed outcomes were given up
    if (failing === undefined || this.waiting.length === 0) return undefined;
    const since = rfc3339(Math.floor(failing.since / 1000));
    return `calls fail since ${since} (${failing.status})`;
  }

  startDelivering(): void {
    if (this.isClosed) return;
    this.consumer.start([TOPICS.commandOutcomes]).catch((error: unknown) => {
      this.logger.error({ msg: 'callbacks cannot be started', sender: this.sender, err: error });
    });
  }

  /** Uses another callback from the next call on. */
  useCallback(callback: IngestCallback): void {
    const last = this.client;
    this.callback = callback;
    this.client = new CallbackClient(callback, this.settings.proxy);
    this.callbackReplaced.abort();
    this.callbackReplaced = new AbortController();
    void last.closeConnections();
  }

  /** Lets the current call end; waiting outcomes are left to the next process. */
  async stopDelivering(): Promise<void> {
    this.isClosed = true;
    await this.consumer.closeConsumer();
    this.expressions.closeEvaluator();
    await this.delivering;
    await this.client.closeConnections();
  }

  /** Retries until Kafka answers: only an existing topic can be subscribed. */
  private async ensureTopic(signal: AbortSignal, report: (problem: string) => void): Promise<void> {
    const { topicPrefix, createTopics: create, topicPartitions: partitions } = this.settings.kafka;
    const topic = { name: topicPrefix + TOPICS.commandOutcomes, cleanupPolicy: 'delete' as const };
    while (!signal.aborted) {
      try {
        await ensureTopics(this.kafka, [topic], { create, partitions });
        return;
      } catch (error) {
        const why = describeKafkaFailure(error);
        report(why);
        this.logger.warn({
          msg: 'callbacks wait for their topic',
          sender: this.sender,
          error: why,
        });
        await realDelayMs(PREPARE_AGAIN_AFTER_MS, signal).catch(() => undefined);
      }
    }
  }

  private enqueueOutcomes(messages: readonly InboundMessage[]): Promise<void> {
    handleEach(messages, (message) => {
      const event = readOutcomeEvent(message, this.sender);
      if (event === undefined) message.finish();
      else this.waiting.push({ message, event, waited: new WaitedTime(message) });
    });
    this.delivering ??= this.deliverAll().finally(() => {
      this.delivering = undefined;
    });
    return Promise.resolve();
  }

  private async deliverAll(): Promise<void> {
    for (let next = this.waiting[0]; next !== undefined; next = this.waiting[0]) {
      await this.deliver(next);
      this.waiting.shift();
    }
  }

  private async deliver({ message, event, waited }: WaitingOutcome): Promise<void> {
    const { revoked } = message;
    while (!revoked.aborted) {
      const attempt = await this.slots
        .runTask(() => this.tryCall(event, revoked))
        .catch(retryCutOff);
      if (attempt.kind === 'retry' && !this.isExpired(waited, attempt)) {
        await this.backOff(attempt, revoked);
        continue;
      }
      this.noteResult(event, attempt.kind === 'done' ? attempt : { ...attempt, result: 'expired' });
      message.finish();
      return;
    }
    message.abandon();
  }

  /** Rejects when the call is cut off. */
  private async tryCall(event: OutcomeEvent, revoked: AbortSignal): Promise<Done | Retry> {
    revoked.throwIfAborted();
    const body = await this.bodyOf(event);
    if (body.kind === 'done') return body;
    const answer = await this.client.postOutcome(event.id, body, this.slots.permit);
    this.calls.set(answer.status, (this.calls.get(answer.status) ?? 0) + 1);
    if (answer.kind === 'done') this.noteAnswered();
    return answer;
  }

  private async bodyOf(event: OutcomeEvent): Promise<Done | Body> {
    const { mapping: expression, contentType } = this.callback;
    const input = JSON.stringify(event);
    if (expression === undefined) {
      return {
        kind: 'body',
        contentType: 'application/cloudevents+json; charset=UTF-8',
        text: input,
      };
    }
    const mapped = await this.expressions.evaluate({ expression, input, variables: {} });
    if (!mapped.ok) return { kind: 'done', result: 'unmapped', why: mapped.fault };
    if (mapped.json === undefined) return { kind: 'done', result: 'skipped' };
    const value: unknown = JSON.parse(mapped.json);
    const isDocument = typeof value === 'string' && !/[/+]json\b/i.test(contentType);
    return { kind: 'body', contentType, text: isDocument ? value : mapped.json };
  }

  private isExpired(waited: WaitedTime, { status }: Retry): boolean {
    return status !== CUT_OFF && waited.measure() >= this.callback.giveUpAfterSeconds * 1000;
  }

  private giveUpUnhandled(message: InboundMessage): void {
    const { headers, partition, offset } = message;
    const id = headerText(headers, 'ce_id') ?? `${partition}/${offset}`;
    this.noteResult({ id }, { result: 'failed', why: 'a bug; see handler failed' });
    // the outcome remains on its topic and needs no dead letter
    message.finish();
  }

  private noteResult({ id }: Pick<OutcomeEvent, 'id'>, { result, why }: Omit<Done, 'kind'>): void {
    this.outcomes.set(result, (this.outcomes.get(result) ?? 0) + 1);
    if (result === 'delivered' || result === 'skipped') return;
    const { sender } = this;
    this.logger.warn({ msg: 'an outcome is given up for a callback', sender, id, result, why });
  }

  private async backOff({ status, why, afterMs }: Retry, revoked: AbortSignal): Promise<void> {
    if (revoked.aborted) return;
    if (status === CUT_OFF && this.slots.permit.objection() !== undefined) {
      // the partition may be revoked: nothing has failed
      await realDelayMs(BACK_OFF.baseMs, revoked).catch(() => undefined);
      return;
    }
    const { sender } = this;
    const { count: before, since } = this.failing ?? { count: 0, since: realEpochMs() };
    const count = before + 1;
    this.failing = { count, since, status };
    if (count === 1) this.logger.warn({ msg: 'a callback fails', sender, why });
    const askedMs = Math.min(afterMs ?? 0, LONGEST_RETRY_AFTER_MS);
    const waitMs = Math.max(backOffMs(count, BACK_OFF), askedMs);
    const { signal, release } = whenAnyAborts(revoked, this.callbackReplaced.signal);
    await realDelayMs(waitMs, signal).catch(() => undefined);
    release();
  }

  private noteAnswered(): void {
    if (this.failing !== undefined) {
      this.logger.log({ msg: 'a callback is answered again', sender: this.sender });
    }
    this.failing = undefined;
  }
}

const CUT_OFF = 'cut-off';

/** A cut-off call, or a mapping that cannot be evaluated: without an answer the outcome does not expire. */
function retryCutOff(error: unknown): Retry {
  return { kind: 'retry', status: CUT_OFF, why: String(error), afterMs: null };
}

interface Body {
  kind: 'body';
  contentType: string;
  text: string;
}

/** By the clocks of two hosts: for a metric alone. */
function ageMs({ timestamp }: InboundMessage): number {
  return Math.max(0, realEpochMs() - Number(timestamp));
}
