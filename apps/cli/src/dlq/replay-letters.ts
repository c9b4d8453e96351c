import { afterRealMs, realEpochMs } from '#libs/clock';
import { type KafkaSettings } from '#libs/config';
import { ensureTopics, IdempotentProducer, type TopicSpan } from '#libs/kafka';
import { type DeadLetterLog } from './dead-letter-log.js';
import { spansOfSelection } from './letter-selection.js';
import { planReplay, type ReplayOrder } from './plan-replay.js';
import type { ReplayPrinter } from './replay-printer.js';
import { Replayer } from './replayer.js';

/** What has been handed to Kafka when the command is interrupted may take this long to be acknowledged. */
const FINISH_DEADLINE_MS = 5000;
const UNKNOWN_END =
  'stopped while Kafka did not answer: some letters may have been replayed without being marked';

export interface ReplayTask {
  log: DeadLetterLog;
  /** Of the whole topic. */
  spans: readonly TopicSpan[];
  order: ReplayOrder;
  signal: AbortSignal;
  printer: ReplayPrinter;
}

/** Says what a replay would do, and does nothing. */
export async function rehearseReplay(task: ReplayTask): Promise<void> {
  const { log, spans, order, signal, printer } = task;
  await log.read(spansOfSelection(spans, order.selection), {
    signal,
    onLetters: (letters) => {
      const { replays, replayedBefore, impossible } = planReplay(letters, order);
      printer.showPlanned(replays);
      printer.count({ replayed: replays.length, replayedBefore, impossible });
    },
  });
}

/**
 * Puts messages back, a handful at a time, each handful marked before the next one is begun.
 *
 * @throws also when it was interrupted and Kafka acknowledged nothing any more
 */
export async function replayLetters(task: ReplayTask, settings: KafkaSettings): Promise<void> {
  const { log } = task;
  const marks = { name: log.marksTopic, cleanupPolicy: 'compact' as const };
  // One partition: every command reads all of it, and there is little in it.
  await ensureTopics(log.kafka, [marks], { create: settings.createTopics, partitions: 1 });
  const producer = new IdempotentProducer(log.kafka);
  try {
    await replayThrough(task, producer);
  } finally {
    await producer.close();
  }
}

async function replayThrough(task: ReplayTask, producer: IdempotentProducer): Promise<void> {
  const { log, spans, order, signal, printer } = task;
  const nowSeconds = (): number => Math.floor(realEpochMs() / 1000);
  const replayer = new Replayer(producer, log.marksTopic, nowSeconds);
  const givenUp = afterInterruption(signal);
  let outlived: readonly string[] | undefined;
  await log.read(spansOfSelection(spans, order.selection), {
    signal,
    progress: () => `, ${printer.tally.replayed} replayed`,
    onLetters: async (letters, marks) => {
      outlived ??= marks.outlived(spans);
      const { replays, replayedBefore, impossible } = planReplay(letters, order);
      const refused = await Promise.race([replayer.replay(replays), givenUp]);
      printer.count({
        replayed: replays.length - refused.length,
        replayedBefore,
        impossible: [...impossible, ...refused],
      });
    },
  });
  if (!signal.aborted) await replayer.forget(outlived ?? []);
}

/** Rejects when what is under way at an interruption has had its time: a producer waits for Kafka for ever. */
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
