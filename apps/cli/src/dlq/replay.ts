import { afterRealMs, realDelayMs, realEpochMs, realNowMs } from '#libs/clock';
import { ensureTopics, IdempotentProducer, type OutboundRecord, type TopicSpan } from '#libs/kafka';
import {
  DEAD_LETTER_HEADERS,
  headerText,
  type MessageHeader,
  type MessageHeaders,
  originalHeaders,
  REPLAY_HEADERS,
} from '#libs/contracts';
import { type CliCommand, JSON_OPTION, type JsonOptions } from '../command-line/command.js';
import { interruption } from '../command-line/interruption.js';
import { commandKafkaSettings } from '../command-line/kafka.js';
import { readNotEmpty, readPositive, readRate, whoCalls } from '../command-line/option-values.js';
import { counted, print, visible, visibleJson } from '../command-line/output.js';
import { DeadLetterLog } from './dead-letter-log.js';
import { findDeadLetterTopic, inputTopics } from './dead-letter-topics.js';
import { type DeadLetter, positionOf } from './dead-letter.js';
import { formatLine, LINE_HEADING } from './format-dead-letter.js';
import { markTombstone, replayMark } from './replay-marks.js';
import { isSelected, selectedSpans, type Selection, withSelection } from './selection.js';

/** Time for Kafka, after an interruption, to acknowledge the records sent before it. */
const FINISH_DEADLINE_MS = 5000;
const UNKNOWN_END =
  'stopped while Kafka did not answer: some dead letters may have been replayed without being marked';
/** Bounds the printed dead letters, of which there may be millions. */
const MAX_LINES = 20;

/** After this many replays a message will probably be rejected again. */
const DEFAULT_MAX_REPLAYS = 5;

interface ReplayOptions extends Selection, JsonOptions {
  all?: boolean;
  again?: boolean;
  yes?: boolean;
  rate?: number;
  maxReplays: number;
  force?: boolean;
  by?: string;
}

interface ReplayTask {
  log: DeadLetterLog;
  spans: readonly TopicSpan[];
  request: ReplayRequest;
  /** Messages a second. */
  rate: number;
  signal: AbortSignal;
  report: ReplayReport;
}

export function addReplayCommand(dlq: CliCommand): void {
  const command = withSelection(dlq.command('replay'))
    .argument('<topic>')
    .description(
      'Puts the messages of dead letters back on the topic they came from, byte for byte, and marks ' +
        'the dead letters as replayed. Without --yes it only says what it would do.',
    )
    .option('--all', 'every dead letter of the topic')
    .option('--again', 'also those that have been replayed before')
    .option('--rate <number>', 'messages a second at most', readRate)
    .option(
      '--max-replays <number>',
      'leaves alone what has come back from so many replays',
      readPositive,
      DEFAULT_MAX_REPLAYS,
    )
    .option('--force', 'also those, however often they have come back')
    .option(
      '--by <name>',
      'who replays, for the message and the mark; user@host unless given',
      readNotEmpty,
    )
    .option('--yes', 'really does it')
    .option(...JSON_OPTION)
    .action((name: string, options: ReplayOptions) => replayDeadLetters(command, name, options));
}

async function replayDeadLetters(
  command: CliCommand,
  name: string,
  options: ReplayOptions,
): Promise<void> {
  const {
    all,
    again = false,
    yes = false,
    rate = Infinity,
    maxReplays,
    force,
    by,
    json,
    ...selection
  } = options;
  if (all !== true && Object.keys(selection).length === 0) {
    command.refuseUsage(
      'select dead letters, for instance with --code, or take all of them with --all',
    );
  }
  const log = new DeadLetterLog(commandKafkaSettings());
  const listing = await log.listTopics();
  const spans = await log.spansOf(findDeadLetterTopic(name, listing));
  const request = {
    selection,
    again,
    inputTopics: new Set(inputTopics(listing)),
    maxReplays: force === true ? undefined : maxReplays,
    by: by ?? whoCalls(),
  };
  const report = new ReplayReport(json === true, !yes);
  const signal = interruption({ writes: yes });
  const task = { log, spans, request, rate, signal, report };
  try {
    await (yes ? replayMessages(task) : planOnly(task));
  } finally {
    report.printSummary();
  }
  if (signal.aborted && yes) throw new Error('stopped early: the same command goes on from here');
  if (signal.aborted) throw new Error('stopped before everything was read');
  if (!yes && json !== true) print('Nothing has been sent: add --yes to do it.');
  else if (yes && report.impossible > 0) throw new Error('not everything could be replayed');
}

async function planOnly({ log, spans, request, signal, report }: ReplayTask): Promise<void> {
  await log.readWithMarks(selectedSpans(spans, request.selection), {
    signal,
    onBatch: (deadLetters) => {
      const { replays, replayedBefore, impossible } = planReplay(deadLetters, request);
      report.showPlanned(replays);
      report.addResults(replays, replayedBefore, impossible);
    },
  });
}

/**
 * Writes messages back, batch by batch. Marks the dead letters of a batch before the next one.
 *
 * @throws also when interrupted while Kafka does not acknowledge records
 */
async function replayMessages(task: ReplayTask): Promise<void> {
  const { log, spans, request, rate, signal, report } = task;
  const marksTopic = { name: log.marksTopic, cleanupPolicy: 'compact' as const };
  // one partition: every command reads all of it, and the topic is small
  await ensureTopics(log.kafka, [marksTopic], { create: log.settings.createTopics, partitions: 1 });
  const producer = new IdempotentProducer(log.kafka);
  const by = { marksTopic: log.marksTopic, replayedBy: request.by };
  const pace = new Pace(rate, signal);
  const givenUp = afterInterruption(signal);
  let outlivedMarks: readonly string[] | undefined;
  try {
    await log.readWithMarks(selectedSpans(spans, request.selection), {
      signal,
      progress: () => `, ${report.replayed} replayed`,
      onBatch: async (deadLetters, marks) => {
        outlivedMarks ??= marks.outlivedKeys(spans);
        const { replays, replayedBefore, impossible } = planReplay(deadLetters, request);
        report.addResults([], replayedBefore, impossible);
        for await (const some of pace.portions(replays)) {
          const refused = await Promise.race([writeBack(producer, some, by), givenUp]);
          const failed = new Set(refused.map(({ deadLetter }) => deadLetter));
          const replayed = some.filter(({ deadLetter }) => !failed.has(deadLetter));
          report.addResults(replayed, 0, refused);
        }
      },
    });
    if (!signal.aborted) {
      await producer.sendRecords(
        (outlivedMarks ?? []).map((key) => markTombstone(log.marksTopic, key)),
      );
    }
  } finally {
    await producer.closeProducer();
  }
}

/** Rejects FINISH_DEADLINE_MS after an interruption, because a producer waits for Kafka forever. */
function afterInterruption(signal: AbortSignal): Promise<never> {
  const givenUp = new Promise<never>((_, reject) => {
    const giveUp = (): void => reject(new Error(UNKNOWN_END));
    signal.addEventListener('abort', () => afterRealMs(FINISH_DEADLINE_MS, giveUp));
  });
  givenUp.catch(() => undefined);
  return givenUp;
}

/** With a rate, each portion is marked before the next. */
const PORTIONS_PER_SECOND = 10;

class Pace {
  private dueMs = 0;

  constructor(
    private readonly rate: number,
    private readonly signal: AbortSignal,
  ) {}

  /** Ends early when the signal aborts. */
  async *portions<T>(items: readonly T[]): AsyncGenerator<readonly T[]> {
    const size = Math.max(1, Math.floor(this.rate / PORTIONS_PER_SECOND));
    for (let start = 0; start < items.length; start += size) {
      const waitMs = this.dueMs - realNowMs();
      if (waitMs > 0) await realDelayMs(waitMs, this.signal).catch(() => undefined);
      // without a rate, an interruption ends the replay after the batch
      if (this.signal.aborted && this.rate !== Infinity) return;
      const some = items.slice(start, start + size);
      this.dueMs = Math.max(this.dueMs, realNowMs()) + (some.length / this.rate) * 1000;
      yield some;
    }
  }
}

class ReplayReport {
  replayed = 0;
  impossible = 0;
  private replayedBefore = 0;
  private shown = 0;

  constructor(
    private readonly json: boolean,
    private readonly isRehearsal: boolean,
  ) {}

  showPlanned(replays: readonly PlannedReplay[]): void {
    if (this.json) return;
    for (const { deadLetter } of replays) {
      this.shown += 1;
      if (this.shown === 1) print(LINE_HEADING);
      if (this.shown <= MAX_LINES) print(formatLine(deadLetter));
      if (this.shown === MAX_LINES + 1) print('…');
    }
  }

  addResults(
    replays: readonly PlannedReplay[],
    replayedBefore: number,
    impossible: readonly ImpossibleReplay[],
  ): void {
    const room = Math.max(0, MAX_LINES - this.impossible);
    if (this.json) {
      const result = this.isRehearsal ? 'planned' : 'replayed';
      for (const { deadLetter } of replays) this.printJson(deadLetter, { result });
      for (const { deadLetter, why } of impossible) {
        this.printJson(deadLetter, { result: 'impossible', why });
      }
    } else {
      for (const { deadLetter, why } of impossible.slice(0, room)) {
        print(`${positionOf(deadLetter)} cannot be replayed: ${visible(why)}`);
      }
    }
    this.replayed += replays.length;
    this.replayedBefore += replayedBefore;
    this.impossible += impossible.length;
  }

  printSummary(): void {
    const { replayed, replayedBefore, impossible, isRehearsal } = this;
    if (this.json) {
      print(visibleJson({ dryRun: isRehearsal, replayed, replayedBefore, impossible }));
      return;
    }
    const what = isRehearsal ? 'would replay' : 'replayed';
    const parts = [`${what} ${counted(replayed, 'dead letter')}`];
    if (replayedBefore > 0) {
      parts.push(`${replayedBefore} replayed before (--again takes them too)`);
    }
    if (impossible > 0) parts.push(`${impossible} cannot be replayed`);
    print(parts.join('; '));
  }

  private printJson({ record, fields }: DeadLetter, what: object): void {
    const { topic, partition, offset } = record;
    print(visibleJson({ topic, partition, offset, toTopic: fields.sourceTopic ?? null, ...what }));
  }
}

interface ReplayRequest {
  selection: Selection;
  /** Includes dead letters that have been replayed before. */
  again: boolean;
  /** Full names of the existing input topics, to which messages may be written back. */
  inputTopics: ReadonlySet<string>;
  /** Limit of replays of a message, which would be rejected each time; undefined: no limit. */
  maxReplays: number | undefined;
  /** The caller's name for the message and the mark. */
  by: string;
}

interface PlannedReplay {
  deadLetter: DeadLetter;
  original: OutboundRecord;
}

interface ImpossibleReplay {
  deadLetter: DeadLetter;
  why: string;
}

interface ReplayPlan {
  /** In the order of the dead letters. */
  replays: PlannedReplay[];
  /** Number of dead letters that are skipped because they have been replayed. */
  replayedBefore: number;
  impossible: ImpossibleReplay[];
}

export function planReplay(deadLetters: readonly DeadLetter[], request: ReplayRequest): ReplayPlan {
  const { selection, again, by } = request;
  const plan: ReplayPlan = { replays: [], replayedBefore: 0, impossible: [] };
  for (const deadLetter of deadLetters) {
    if (!isSelected(deadLetter, selection)) continue;
    const why = whyNotReplayed(deadLetter, request);
    if (deadLetter.replayedAt !== undefined && !again) plan.replayedBefore += 1;
    else if (why !== undefined) plan.impossible.push({ deadLetter, why });
    else plan.replays.push({ deadLetter, original: originalOf(deadLetter, by) });
  }
  return plan;
}

function whyNotReplayed(
  { record, fields }: DeadLetter,
  { inputTopics, maxReplays = Infinity }: ReplayRequest,
): string | undefined {
  const { sourceTopic, sourcePartition, sourceOffset, valueOmittedBytes } = fields;
  if (sourceTopic === undefined) return 'it does not say where it came from';
  if (!inputTopics.has(sourceTopic)) return `there is no input topic ${sourceTopic}`;
  if (valueOmittedBytes === 0) return 'the message was no longer in its topic when it was rejected';
  if (valueOmittedBytes !== undefined) {
    return (
      `its value of ${valueOmittedBytes} bytes was too large to be kept; the message was at ` +
      `offset ${sourceOffset ?? '?'} of partition ${sourcePartition ?? '?'} of ${sourceTopic}`
    );
  }
  const count = replayCount(record.headers);
  if (count < maxReplays) return undefined;
  return `it has come back from ${count} replays: mend the cause, then replay it with --force`;
}

function replayCount(headers: MessageHeaders): number {
  const text = headerText(headers, REPLAY_HEADERS.count) ?? '';
  return /^\d{1,9}$/.test(text) ? Number(text) : 0;
}

const REPLAY_HEADER_NAMES = new Set<string>(Object.values(REPLAY_HEADERS));

/** Epoch milliseconds, or -1 for a record without a timestamp. Clients cannot write longer numbers exactly. */
const TIMESTAMP = /^(-1|\d{1,15})$/;

/** The message to write back: its key, value, own headers and time, with the headers of the replay. */
function originalOf({ record, fields }: DeadLetter, by: string): OutboundRecord {
  const { sourceTopic: topic = '' } = fields;
  const { key, value } = record;
  const replay: MessageHeader[] = [
    [REPLAY_HEADERS.count, Buffer.from(String(replayCount(record.headers) + 1))],
    [REPLAY_HEADERS.by, Buffer.from(by)],
  ];
  const own = originalHeaders(record.headers).filter(([name]) => !REPLAY_HEADER_NAMES.has(name));
  // a message without a trace continues the trace of its rejection
  const rejectedIn = headerText(record.headers, DEAD_LETTER_HEADERS.traceparent);
  if (rejectedIn !== null && headerText(own, 'traceparent') === null) {
    replay.push(['traceparent', Buffer.from(rejectedIn)]);
  }
  const original = { topic, key, value, headers: [...own, ...replay] };
  // keeps the time: a message without a time of its own must not supersede later messages
  const timestamp = headerText(record.headers, DEAD_LETTER_HEADERS.sourceTimestamp) ?? '';
  return TIMESTAMP.test(timestamp) ? { ...original, timestamp } : original;
}

/**
 * Writes messages back and marks their dead letters. Resolves once Kafka has acknowledged the messages and then their
 * marks. After a crash in between, a second replay writes a message again.
 *
 * @returns the dead letters whose messages Kafka refuses permanently
 * @throws when the producer is closed meanwhile
 */
export async function writeBack(
  producer: Pick<IdempotentProducer, 'sendRecords'>,
  replays: readonly PlannedReplay[],
  { marksTopic, replayedBy }: { marksTopic: string; replayedBy: string },
): Promise<ImpossibleReplay[]> {
  const refused = await producer.sendRecords(replays.map(({ original }) => original));
  const replayedAt = Math.floor(realEpochMs() / 1000);
  const marks = replays
    .filter(({ original }) => !refused.has(original))
    .map(({ deadLetter, original: { topic: toTopic } }) =>
      replayMark(marksTopic, deadLetter.record, { toTopic, replayedAt, replayedBy }),
    );
  await producer.sendRecords(marks);
  return replays.flatMap(({ deadLetter, original }) => {
    const refusal = refused.get(original);
    return refusal === undefined ? [] : [{ deadLetter, why: refusal.message }];
  });
}
