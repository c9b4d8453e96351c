import { type TopicSpan } from './topic-span.js';

/**
 * Answers in a row that brought nothing, before that is taken for an empty record batch. More than the
 * client tries again after an error that Kafka has answered: no record may be passed over for that.
 */
const EMPTY_ANSWERS = 10;

/**
 * How far a read has come through spans that are read one after the other. Only one partition is
 * read at a time: then an answer without a record says something about that partition, and not only
 * that others have filled the answer.
 */
export class SpanCursor {
  private readonly waiting: TopicSpan[];
  private span: TopicSpan | undefined;
  private next = 0;
  private emptyAnswers = 0;

  /** Spans of one partition come in the order of their offsets and do not overlap; empty ones are passed over. */
  constructor(spans: readonly TopicSpan[]) {
    this.waiting = [...spans];
    this.openNext();
  }

  /** The span that is being read; undefined at the end of the last one. */
  get current(): TopicSpan | undefined {
    return this.span;
  }

  /** The next offset to read in the current span. */
  get position(): number {
    return this.next;
  }

  isAt(topic: string, partition: number): boolean {
    return this.span?.topic === topic && this.span.partition === partition;
  }

  /** Whether the record at this offset of the current partition belongs to what is still to be read. */
  wants(offset: number): boolean {
    return this.span !== undefined && offset >= this.next && offset < this.span.until;
  }

  /** All of the current partition up to this offset has been read. Returns whether its span ends with it. */
  pass(offset: number): boolean {
    if (this.span === undefined || offset < this.next) return false;
    this.next = offset + 1;
    this.emptyAnswers = 0;
    if (this.next < this.span.until) return false;
    this.openNext();
    return true;
  }

  /** Where answers came from changes with the group's assignment: what was counted means nothing any more. */
  beginAnew(): void {
    this.emptyAnswers = 0;
  }

  /**
   * Kafka has answered at once, and what came before has been dealt with. Returns true once it does so
   * again and again without a record: compaction has left a record batch with nothing in it, of which
   * the client tells nothing and which it would fetch for ever. The one way on is the next offset.
   */
  isStuck(): boolean {
    this.emptyAnswers += 1;
    return this.emptyAnswers > EMPTY_ANSWERS;
  }

  private openNext(): void {
    this.span = this.waiting.shift();
    while (this.span !== undefined && this.span.from >= this.span.until) {
      this.span = this.waiting.shift();
    }
    this.next = this.span?.from ?? 0;
    this.emptyAnswers = 0;
  }
}
