import { eventually } from '../eventually.js';
import { header, json, type TopicReader } from '../kafka.js';
import { inBrief } from './in-brief.js';

interface Source {
  source: { messageId: string | null };
}

/** What the bridge has said became of each message, by `message-id`. */
export class Answers {
  private readonly final = new Map<string, Set<string>>();
  private readonly deferrals = new Map<string, number>();
  private read = 0;

  /** @param outcomes reads `machine.command-outcomes.v1`, and nothing else */
  constructor(private readonly outcomes: TopicReader) {}

  /** The types of the final outcomes of a message; more than one: they contradict each other. */
  finalOf(messageId: string): string[] {
    this.catchUp();
    return [...(this.final.get(messageId) ?? [])];
  }

  /** How often a message was said to be deferred. */
  deferralsOf(messageId: string): number {
    this.catchUp();
    return this.deferrals.get(messageId) ?? 0;
  }

  unanswered(messageIds: readonly string[]): string[] {
    this.catchUp();
    return messageIds.filter((id) => !this.final.has(id));
  }

  /** In words, the messages that were first said to be one thing and then another. */
  contradictions(): string[] {
    this.catchUp();
    const faults = [...this.final]
      .filter(([, types]) => types.size > 1)
      .map(([id, types]) => `${id}: ${[...types].join(', then ')}`);
    return inBrief(faults);
  }

  async untilAll(messageIds: readonly string[], timeoutMs: number): Promise<void> {
    await eventually(
      () => {
        const waiting = this.unanswered(messageIds);
        if (waiting.length > 0) throw new Error(`${waiting.length} wait, like ${waiting[0] ?? ''}`);
        return true;
      },
      { what: `a final outcome of each of ${messageIds.length} messages`, timeoutMs },
    );
  }

  /** Each record once, however often it is asked: there are tens of thousands. */
  private catchUp(): void {
    const { records } = this.outcomes;
    for (; this.read < records.length; this.read += 1) {
      const record = records[this.read];
      const type = record && header(record, 'ce_type');
      if (record === undefined || type === undefined) continue;
      const { messageId } = (json(record) as unknown as Source).source;
      if (messageId === null) continue;
      if (type.includes('.deferred.')) {
        this.deferrals.set(messageId, (this.deferrals.get(messageId) ?? 0) + 1);
      } else {
        this.final.set(messageId, (this.final.get(messageId) ?? new Set()).add(type));
      }
    }
  }
}
