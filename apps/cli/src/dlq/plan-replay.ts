import { originalHeaders } from '#libs/contracts';
import { type OutboundRecord } from '#libs/kafka';
import { isSelected, type LetterSelection } from './letter-selection.js';
import { type StoredLetter } from './stored-letter.js';

export interface ReplayOrder {
  selection: LetterSelection;
  /** Those that have been replayed before, too. */
  again: boolean;
  /** The topics a letter may go back to, full names: inputs of the bridge that exist. */
  inputTopics: ReadonlySet<string>;
}

/** A letter and the message it was made of. */
export interface PlannedReplay {
  letter: StoredLetter;
  original: OutboundRecord;
}

export interface ImpossibleReplay {
  letter: StoredLetter;
  why: string;
}

export interface ReplayPlan {
  /** In the order of the letters. */
  replays: PlannedReplay[];
  /** How many are left alone because they have been replayed. */
  replayedBefore: number;
  impossible: ImpossibleReplay[];
}

/** What a replay has to do for these letters of one topic. */
export function planReplay(letters: readonly StoredLetter[], order: ReplayOrder): ReplayPlan {
  const plan: ReplayPlan = { replays: [], replayedBefore: 0, impossible: [] };
  for (const letter of letters) {
    if (!isSelected(letter, order.selection)) continue;
    const why = obstacle(letter, order.inputTopics);
    if (letter.replayedAt !== undefined && !order.again) plan.replayedBefore += 1;
    else if (why !== undefined) plan.impossible.push({ letter, why });
    else plan.replays.push({ letter, original: originalOf(letter) });
  }
  return plan;
}

/** Why a letter cannot be put back; undefined when it can. */
function obstacle({ fields }: StoredLetter, inputTopics: ReadonlySet<string>): string | undefined {
  const { sourceTopic, sourcePartition, sourceOffset, valueOmittedBytes } = fields;
  if (sourceTopic === undefined) return 'it does not say where it came from';
  if (!inputTopics.has(sourceTopic)) return `there is no input topic ${sourceTopic}`;
  if (valueOmittedBytes === undefined) return undefined;
  return (
    `its value of ${valueOmittedBytes} bytes was too large to be kept; the message was at ` +
    `offset ${sourceOffset ?? '?'} of partition ${sourcePartition ?? '?'} of ${sourceTopic}`
  );
}

/** The message as it was: key, value, headers and time, without what was said about its failure. */
function originalOf({ record, fields }: StoredLetter): OutboundRecord {
  const { key, value } = record;
  const topic = fields.sourceTopic ?? '';
  return { topic, key, value, headers: originalHeaders(record.headers), ...timeOf(fields) };
}

/** What is dated by its record alone must not count as newer than what has come since. Zero is of no record. */
function timeOf({ sourceTimestamp = 0 }: StoredLetter['fields']): { timestamp?: string } {
  return sourceTimestamp === 0 ? {} : { timestamp: String(sourceTimestamp) };
}
