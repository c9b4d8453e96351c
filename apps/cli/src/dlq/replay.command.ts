import { Option, SubCommand } from 'nest-commander';
import { afterRealMs, realEpochMs } from '#libs/clock';
import { ensureTopics, IdempotentProducer, type TopicSpan } from '#libs/kafka';
import { commandKafkaSettings } from '../command-line/kafka.js';
import { print, visible } from '../command-line/output.js';
import { positionOf } from './dead-letter.js';
import { DeadLetterLog } from './dead-letter-log.js';
import { inputTopics } from './dead-letter-topics.js';
import { formatLine, LINE_HEADING } from './format-dead-letter.js';
import {
  type ImpossibleReplay,
  planReplay,
  type PlannedReplay,
  Replayer,
  type ReplayRequest,
} from './replay.js';
import { selectedSpans, type Selection } from './selection.js';
import { SelectionCommand } from './selection.command.js';

/** How long Kafka may take, after an interruption, to acknowledge what was sent before it. */
const FINISH_DEADLINE_MS = 5000;
const UNKNOWN_END =
  'stopped while Kafka did not answer: some dead letters may have been replayed without being marked';
/** There may be millions: the first ones show what is meant. */
const MAX_LINES = 20;

interface ReplayOptions extends Selection {
  all?: boolean;
  again?: boolean;
  yes?: boolean;
}

interface ReplayTask {
  log: DeadLetterLog;
  /** Of the whole topic. */
  spans: readonly TopicSpan[];
  request: ReplayRequest;
  signal: AbortSignal;
  report: ReplayReport;
}

/** `dlq replay <topic>`: puts messages back where they came from. */
@SubCommand({
  name: 'replay',
  arguments: '<topic>',
  description:
    'Puts the messages of dead letters back on the topic they came from, byte for byte, and marks the dead ' +
    'letters as replayed. Without --yes it only says what it would do.',
})
export class ReplayCommand extends SelectionCommand {
  async run([name = '']: string[], options: ReplayOptions): Promise<void> {
    const { all = false, again = false, yes = false, ...selection } = options;
    if (!all && Object.keys(selection).length === 0) {
      this.refuse('select dead letters, for instance with --code, or take all of them with --all');
    }
    const log = new DeadLetterLog(commandKafkaSettings());
    const listing = await log.topics();
    const spans = await log.spans(this.topicCalled(name, listing));
    const request = { selection, again, inputTopics: new Set(inputTopics(listing)) };
    const report = new ReplayReport();
    const signal = this.interruption();
    const task = { log, spans, request, signal, report };
    try {
      await (yes ? replay(task) : rehearse(task));
    } finally {
      print(report.summary(!yes));
    }
    if (signal.aborted && yes) throw new Error('stopped early: the same command goes on from here');
    if (signal.aborted) throw new Error('stopped before everything was read');
    if (!yes) print('Nothing has been sent: add --yes to do it.');
    else if (report.impossible > 0) throw new Error('not everything could be replayed');
  }

  @Option({ flags: '--all', description: 'every dead letter of the topic' })
  all(): boolean {
    return true;
  }

  @Option({ flags: '--again', description: 'also those that have been replayed before' })
  again(): boolean {
    return true;
  }

  @Option({ flags: '--yes', description: 'really does it' })
  yes(): boolean {
    return true;
  }
}

/** Says what a replay would do, and does nothing. */
async function rehearse({ log, spans, request, signal, report }: ReplayTask): Promise<void> {
  await log.read(selectedSpans(spans, request.selection), {
    signal,
    onBatch: (deadLetters) => {
      const { replays, replayedBefore, impossible } = planReplay(deadLetters, request);
      report.showPlanned(replays);
      report.count(replays.length, replayedBefore, impossible);
    },
  });
}

/**
 * Puts messages back, batch by batch: each is marked before the next one is begun.
 *
 * @throws also when interrupted while Kafka no longer acknowledges anything
 */
async function replay({ log, spans, request, signal, report }: ReplayTask): Promise<void> {
  const marksTopic = { name: log.marksTopic, cleanupPolicy: 'compact' as const };
  // One partition: every command reads all of it, and there is little in it.
  await ensureTopics(log.kafka, [marksTopic], { create: log.settings.createTopics, partitions: 1 });
  const producer = new IdempotentProducer(log.kafka);
  const nowSeconds = (): number => Math.floor(realEpochMs() / 1000);
  const replayer = new Replayer(producer, log.marksTopic, nowSeconds);
  const givenUp = afterInterruption(signal);
  let outlivedMarks: readonly string[] | undefined;
  try {
    await log.read(selectedSpans(spans, request.selection), {
      signal,
      progress: () => `, ${report.replayed} replayed`,
      onBatch: async (deadLetters, marks) => {
        outlivedMarks ??= marks.outlived(spans);
        const { replays, replayedBefore, impossible } = planReplay(deadLetters, request);
        const refused = await Promise.race([replayer.replay(replays), givenUp]);
        const replayed = replays.length - refused.length;
        report.count(replayed, replayedBefore, [...impossible, ...refused]);
      },
    });
    if (!signal.aborted) await replayer.deleteMarks(outlivedMarks ?? []);
  } finally {
    await producer.close();
  }
}

/** Rejects a while after an interruption: a producer waits for Kafka for ever. */
function afterInterruption(signal: AbortSignal): Promise<never> {
  const givenUp = new Promise<never>((_, reject) => {
    const giveUp = (): void => {
      reject(new Error(UNKNOWN_END));
    };
    signal.addEventListener('abort', () => afterRealMs(FINISH_DEADLINE_MS, giveUp));
  });
  givenUp.catch(() => undefined);
  return givenUp;
}

/** Prints and counts what becomes of dead letters while they are read. */
class ReplayReport {
  replayed = 0;
  impossible = 0;
  private replayedBefore = 0;
  private shown = 0;

  showPlanned(replays: readonly PlannedReplay[]): void {
    for (const { deadLetter } of replays) {
      this.shown += 1;
      if (this.shown === 1) print(LINE_HEADING);
      if (this.shown <= MAX_LINES) print(formatLine(deadLetter));
      if (this.shown === MAX_LINES + 1) print('…');
    }
  }

  count(replayed: number, replayedBefore: number, impossible: readonly ImpossibleReplay[]): void {
    const room = Math.max(0, MAX_LINES - this.impossible);
    for (const { deadLetter, why } of impossible.slice(0, room)) {
      print(`${positionOf(deadLetter)} cannot be replayed: ${visible(why)}`);
    }
    this.replayed += replayed;
    this.replayedBefore += replayedBefore;
    this.impossible += impossible.length;
  }

  /** One line. */
  summary(isRehearsal: boolean): string {
    const { replayed, replayedBefore, impossible } = this;
    const deadLetters = `${replayed} dead letter${replayed === 1 ? '' : 's'}`;
    const parts = [`${isRehearsal ? 'would replay' : 'replayed'} ${deadLetters}`];
    if (replayedBefore > 0) {
      parts.push(`${replayedBefore} replayed before (--again takes them too)`);
    }
    if (impossible > 0) parts.push(`${impossible} cannot be replayed`);
    return parts.join('; ');
  }
}
