import { type Consumer, type EachBatchPayload } from 'kafkajs';
import { everyRealMs, realNowMs } from '#libs/clock';
import { withDeadline } from '../deadline.js';
import { toInboundRecord } from '../inbox/to-inbound-record.js';
import { Ending } from './ending.js';
import { type ReadOptions } from './read-options.js';
import { type SpanCursor } from './span-cursor.js';
import { type StoredRecord } from './stored-record.js';
import { type TopicSpan } from './topic-span.js';

/** Handed over at a time, so that a read can be stopped, and gives a sign of life, between them. */
const MAX_RECORDS = 100;
const SILENCE_MS = 30_000;
const START_DEADLINE_MS = 5000;
/** Kafka holds back an answer for longer than this only when it has nothing at all to send. */
const PROMPT_ANSWER_MS = 125;

/** Takes one kafkajs consumer, alone in its group, through the spans of a cursor. */
export class SpanReader {
  private readonly ending = new Ending();
  private handling = false;
  private lastSignMs = realNowMs();

  constructor(
    private readonly consumer: Consumer,
    private readonly cursor: SpanCursor,
    private readonly options: ReadOptions,
  ) {}

  /** Resolves at the end of the last span, or when the signal has aborted. */
  async read(topics: string[]): Promise<void> {
    const { signal } = this.options;
    const onAbort = (): void => {
      if (!this.handling) this.ending.end();
    };
    signal.addEventListener('abort', onAbort);
    const stopWatching = everyRealMs(1000, () => {
      this.watch();
    });
    const starting = this.start(topics).catch((error: unknown) => {
      this.ending.end(error as Error);
    });
    try {
      await this.ending.reached;
    } finally {
      stopWatching();
      signal.removeEventListener('abort', onAbort);
      // A consumer that is disconnected while it joins goes on joining, and is left behind.
      await withDeadline(starting, START_DEADLINE_MS);
    }
  }

  private async start(topics: string[]): Promise<void> {
    this.listen();
    await this.consumer.connect();
    await this.consumer.subscribe({ topics, fromBeginning: true });
    if (this.ending.isOver) return;
    await this.consumer.run({ autoCommit: false, eachBatch: (payload) => this.onBatch(payload) });
  }

  private listen(): void {
    const { CRASH, GROUP_JOIN, END_BATCH_PROCESS, REQUEST } = this.consumer.events;
    this.consumer.on(CRASH, ({ payload }) => {
      this.ending.end(payload.error);
    });
    this.consumer.on(GROUP_JOIN, ({ payload }) => {
      this.onJoin(Object.entries(payload.memberAssignment));
    });
    this.consumer.on(END_BATCH_PROCESS, ({ payload }) => {
      const { topic, partition, batchSize, lastOffset } = payload;
      // Transaction markers and aborted records alone: not shown to eachBatch.
      if (batchSize === 0 && this.cursor.isAt(topic, partition)) this.pass(Number(lastOffset));
    });
    this.consumer.on(REQUEST, ({ payload: { apiName, duration } }) => {
      if (apiName === 'Fetch' && duration < PROMPT_ANSWER_MS) this.onPromptAnswer();
    });
  }

  /** A member that joins, or joins again after it was thought dead, starts from the beginning of everything. */
  private onJoin(assigned: [topic: string, partitions: number[]][]): void {
    this.cursor.beginAnew();
    this.consumer.pause(assigned.map(([topic, partitions]) => ({ topic, partitions })));
    this.goOn();
  }

  private async onBatch(payload: EachBatchPayload): Promise<void> {
    const { topic, partition } = payload.batch;
    let span: TopicSpan | undefined;
    // A batch may hold what several spans of its partition are for.
    while (this.cursor.current !== span && this.cursor.isAt(topic, partition)) {
      span = this.cursor.current;
      if (this.ending.isOver || !(await this.takeWanted(payload))) return;
      // Markers behind the last record, unless the span has ended with it.
      if (this.cursor.current === span) this.pass(Number(payload.batch.lastOffset()));
    }
  }

  /** Hands over what the current span is for; returns whether the read goes on. */
  private async takeWanted(payload: EachBatchPayload): Promise<boolean> {
    const { topic, partition, messages } = payload.batch;
    const records = messages
      .filter(({ offset }) => this.cursor.wants(Number(offset)))
      .map((message) => toInboundRecord(topic, partition, message));
    for (let start = 0; start < records.length; start += MAX_RECORDS) {
      const some = records.slice(start, start + MAX_RECORDS);
      if (!(await this.handle(some))) return false;
      this.pass(some.at(-1)?.offset ?? 0);
      await payload.heartbeat();
    }
    return true;
  }

  /** Returns whether the read goes on. An error must not reach kafkajs, which would try again. */
  private async handle(records: readonly StoredRecord[]): Promise<boolean> {
    const { signal, onRecords } = this.options;
    this.handling = true;
    try {
      await onRecords(records);
      if (signal.aborted) this.ending.end();
    } catch (error) {
      this.ending.end(error as Error);
    }
    this.handling = false;
    return !this.ending.isOver;
  }

  private pass(offset: number): void {
    const { current } = this.cursor;
    this.lastSignMs = realNowMs();
    if (!this.cursor.pass(offset) || current === undefined) return;
    this.consumer.pause([{ topic: current.topic, partitions: [current.partition] }]);
    this.goOn();
  }

  private goOn(): void {
    const { current, position } = this.cursor;
    if (current === undefined) {
      this.ending.end();
      return;
    }
    const { topic, partition } = current;
    this.consumer.seek({ topic, partition, offset: String(position) });
    this.consumer.resume([{ topic, partitions: [partition] }]);
  }

  private onPromptAnswer(): void {
    const { current, position } = this.cursor;
    if (current === undefined || !this.cursor.isStuck()) return;
    this.pass(position);
    if (this.cursor.current === current) this.goOn();
  }

  private watch(): void {
    if (this.handling) this.lastSignMs = realNowMs();
    const { current, position } = this.cursor;
    if (current === undefined || realNowMs() - this.lastSignMs < SILENCE_MS) return;
    const where = `${current.topic}, partition ${current.partition}, offset ${position}`;
    this.ending.end(new Error(`Kafka says nothing more since ${SILENCE_MS / 1000} s: ${where}`));
  }
}
