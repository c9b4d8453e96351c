import { withDeadline } from '../deadline.js';
import { type Consumer, type EachBatchPayload } from '#libs/kafkajs-patches';
import { Ending } from './ending.js';
import { HandOver } from './hand-over.js';
import { type ReadOptions } from './read-options.js';
import { SilenceWatch } from './silence-watch.js';
import { type SpanCursor } from './span-cursor.js';
import { toStoredRecord } from './stored-record.js';
import { type TopicSpan } from './topic-span.js';

/** Handed over at a time, so that a read can be stopped, and gives a sign of life, between them. */
const MAX_RECORDS = 100;
const START_DEADLINE_MS = 5000;

/** Takes one kafkajs consumer, alone in its group, through the spans of a cursor. */
export class SpanReader {
  private readonly ending = new Ending();
  private readonly handOver: HandOver;
  private readonly silence = new SilenceWatch(() => {
    const { current, position } = this.cursor;
    return `${current?.topic}, partition ${current?.partition}, offset ${position}`;
  });

  constructor(
    private readonly consumer: Consumer,
    private readonly cursor: SpanCursor,
    private readonly options: ReadOptions,
  ) {
    this.handOver = new HandOver(options, this.ending);
  }

  /** Resolves at the end of the last span, or when the signal has aborted. */
  async read(topics: string[]): Promise<void> {
    const { signal } = this.options;
    const onAbort = (): void => {
      if (!this.handOver.isUnderWay) this.ending.end();
    };
    signal.addEventListener('abort', onAbort);
    const stopWatching = this.silence.start((error) => {
      if (!this.handOver.isUnderWay) this.ending.end(error);
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
    const { CRASH, GROUP_JOIN, END_BATCH_PROCESS } = this.consumer.events;
    this.consumer.on(CRASH, ({ payload }) => {
      this.ending.end(payload.error);
    });
    this.consumer.on(GROUP_JOIN, ({ payload }) => {
      this.onJoin(Object.entries(payload.memberAssignment));
    });
    this.consumer.on(END_BATCH_PROCESS, ({ payload }) => {
      const { topic, partition, batchSize, lastOffset } = payload;
      // Transaction markers, aborted records and what compaction has taken: not shown to eachBatch.
      if (batchSize === 0 && this.cursor.isAt(topic, partition)) this.pass(Number(lastOffset));
    });
  }

  /** A member that joins, or joins again after it was thought dead, starts from the beginning of everything. */
  private onJoin(assigned: [topic: string, partitions: number[]][]): void {
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
      .map((message) => toStoredRecord(topic, partition, message));
    for (let start = 0; start < records.length; start += MAX_RECORDS) {
      const some = records.slice(start, start + MAX_RECORDS);
      if (!(await this.handOver.give(some))) return false;
      this.pass(some.at(-1)?.offset ?? 0);
      await payload.heartbeat();
    }
    return true;
  }

  private pass(offset: number): void {
    const { current } = this.cursor;
    this.silence.sign();
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
}
