import type { CommandOutcome } from '#libs/contracts';
import { eventually } from '../eventually.js';
import { header, type TopicReader } from '../topic-reader.js';
import { inBrief } from './in-brief.js';

/** A final outcome as the bridge said it. */
interface FinalAnswer {
  type: string;
  machineId: string | null;
  /** Of an order message, which has an outcome for each order and machine. */
  orderId?: string;
}

/** What the bridge has said became of each message, by `message-id`. */
export class Answers {
  private readonly final = new Map<string, FinalAnswer[]>();
  private readonly deferrals = new Map<string, number>();
  private read = 0;

  /** @param outcomes reads `machine.command-outcomes.v1`, and nothing else */
  constructor(private readonly outcomes: TopicReader) {}

  /** The final outcomes of a message, as often as they were said. */
  finalOf(messageId: string): readonly FinalAnswer[] {
    this.catchUp();
    return this.final.get(messageId) ?? [];
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

  /** In words, the messages of which first one thing was said and then another. */
  contradictions(): string[] {
    this.catchUp();
    const faults = [...this.final].flatMap(([id, answers]) =>
      answers
        .filter((answer) =>
          answers.some(
            (other) => subjectOf(other) === subjectOf(answer) && other.type !== answer.type,
          ),
        )
        .map(({ type }) => `${id}: ${type}`),
    );
    return inBrief(faults);
  }

  /** In words, the messages that were answered more than once for an order and machine, as only a crash excuses. */
  repetitions(): string[] {
    this.catchUp();
    const faults = [...this.final].flatMap(([id, answers]) => {
      const subjects = new Set(answers.map(subjectOf));
      return subjects.size === answers.length ? [] : [`${id}: ${answers.length} final outcomes`];
    });
    return inBrief(faults);
  }

  async untilAll(messageIds: readonly string[], timeoutMs?: number): Promise<void> {
    let waiting = messageIds;
    await eventually(
      `a final outcome of each of ${messageIds.length} messages`,
      () => {
        this.catchUp();
        const first = waiting.findIndex((id) => !this.final.has(id));
        if (first < 0) return true;
        // looked at once each, however often all of them are asked for
        waiting = waiting.slice(first);
        throw new Error(`up to ${waiting.length} wait, like ${waiting[0] ?? ''}`);
      },
      timeoutMs,
    );
  }

  /** Each record once, however often it is asked: there are tens of thousands. */
  private catchUp(): void {
    const { records } = this.outcomes;
    for (; this.read < records.length; this.read += 1) {
      const record = records[this.read];
      const type = record && header(record, 'ce_type');
      if (record?.value == null || type === undefined) continue;
      const { machineId, orderId, source } = JSON.parse(record.value.toString()) as CommandOutcome;
      if (source.messageId === null) continue;
      this.note(source.messageId, { type, machineId, ...(orderId !== undefined && { orderId }) });
    }
  }

  private note(messageId: string, answer: FinalAnswer): void {
    if (answer.type.includes('.deferred.')) {
      this.deferrals.set(messageId, (this.deferrals.get(messageId) ?? 0) + 1);
      return;
    }
    const answers = this.final.get(messageId) ?? [];
    answers.push(answer);
    this.final.set(messageId, answers);
  }
}

function subjectOf({ machineId, orderId }: FinalAnswer): string {
  return JSON.stringify([machineId, orderId]);
}
