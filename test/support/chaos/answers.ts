import type { CommandOutcome } from '#libs/contracts';
import { eventually } from '../eventually.js';
import { header, type TopicReader } from '../topic-reader.js';
import { inBrief } from './in-brief.js';

/** A published final outcome. */
interface FinalAnswer {
  type: string;
  machineId: string | null;
  /** Set for an order message, which has an outcome for each order and machine. */
  orderId?: string;
}

/** The published outcomes of each message, by `message-id`. */
export class Answers {
  private readonly final = new Map<string, FinalAnswer[]>();
  private readonly deferrals = new Map<string, number>();
  private read = 0;

  /** @param outcomes reads `machine.command-outcomes.v1` only */
  constructor(private readonly outcomes: TopicReader) {}

  /** The final outcomes of a message, with repetitions. */
  finalOf(messageId: string): readonly FinalAnswer[] {
    this.catchUp();
    return this.final.get(messageId) ?? [];
  }

  /** How often a message had the outcome `deferred`. */
  deferralsOf(messageId: string): number {
    this.catchUp();
    return this.deferrals.get(messageId) ?? 0;
  }

  unanswered(messageIds: readonly string[]): string[] {
    this.catchUp();
    return messageIds.filter((id) => !this.final.has(id));
  }

  /** Messages with two different final outcomes, as text. */
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

  /** Messages with more than one final outcome for an order and machine, which only a crash excuses, as text. */
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
        // each is looked at once, however often all of them are asked for
        waiting = waiting.slice(first);
        throw new Error(`up to ${waiting.length} wait, like ${waiting[0] ?? ''}`);
      },
      timeoutMs,
    );
  }

  /** Reads each record once, however often it is called: there are tens of thousands. */
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
