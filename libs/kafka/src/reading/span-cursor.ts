import { type TopicSpan } from './topic-span.js';

/** How far a read has come through spans that are read one after the other. */
export class SpanCursor {
  private readonly waiting: TopicSpan[];
  private span: TopicSpan | undefined;
  private next = 0;

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
    if (this.next < this.span.until) return false;
    this.openNext();
    return true;
  }

  private openNext(): void {
    this.span = this.waiting.shift();
    while (this.span !== undefined && this.span.from >= this.span.until) {
      this.span = this.waiting.shift();
    }
    this.next = this.span?.from ?? 0;
  }
}
