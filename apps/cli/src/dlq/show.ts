import { type CliCommand, JSON_OPTION } from '../command-line/command.js';
import { interruption } from '../command-line/interruption.js';
import { commandKafkaSettings } from '../command-line/kafka.js';
import { readLimit } from '../command-line/option-values.js';
import { print } from '../command-line/output.js';
import { type DeadLetter, positionOf } from './dead-letter.js';
import { DeadLetterLog } from './dead-letter-log.js';
import { formatInFull, formatJsonInFull } from './format-dead-letter.js';
import { Newest } from './newest.js';
import type { Selection } from './selection.js';
import { topicCalled, withSelection } from './selection-options.js';

const DEFAULT_LIMIT = 10;

interface ShowOptions extends Selection {
  limit?: number;
  raw?: boolean;
  json?: boolean;
}

/** `dlq show <topic>`: dead letters in full. */
export function addShowCommand(dlq: CliCommand): void {
  withSelection(dlq.command('show'))
    .argument('<topic>')
    .description(
      'Shows dead letters in full: cause, source, headers, and the first 64 kB of the value.',
    )
    .option(
      '--limit <number>',
      `of the newest dead letters; ${DEFAULT_LIMIT} unless given`,
      readLimit,
    )
    .option('--raw', 'writes the exact bytes of one value to stdout, and nothing else')
    .option(...JSON_OPTION)
    .action(showDeadLetters);
}

async function showDeadLetters(name: string, options: ShowOptions): Promise<void> {
  const { limit = DEFAULT_LIMIT, raw = false, json = false, ...selection } = options;
  const log = new DeadLetterLog(commandKafkaSettings());
  const topic = topicCalled(name, await log.topics());
  const newest = new Newest<DeadLetter>(limit);
  const signal = interruption();
  await log.readSelected(await log.spans(topic), { selection, signal }, (deadLetter) => {
    newest.offer(deadLetter, deadLetter);
  });
  if (signal.aborted) throw new Error('stopped before everything was read');
  const shown = newest.inOrder();
  if (shown.length === 0) throw new Error(`no such dead letter on ${topic}`);
  if (raw) {
    writeValue(shown, newest.offered);
    return;
  }
  for (const deadLetter of shown) {
    if (json) print(formatJsonInFull(deadLetter));
    else formatInFull(deadLetter).forEach(print);
  }
  if (!json && newest.offered > shown.length) {
    print(`the newest ${shown.length} of ${newest.offered}; --limit N shows more`);
  }
}

function writeValue(shown: readonly DeadLetter[], found: number): void {
  const [deadLetter] = shown;
  if (deadLetter === undefined || found > 1) {
    const positions = shown.map(positionOf).join(', ');
    throw new Error(
      `--raw writes one value, and ${found} dead letters match (partition/offset: ${positions}); ` +
        'name one with --partition and --offset',
    );
  }
  process.stdout.write(deadLetter.record.value ?? '');
}
