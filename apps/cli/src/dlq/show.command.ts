import { Option, SubCommand } from 'nest-commander';
import { commandKafkaSettings } from '../command-line/kafka.js';
import { readLimit } from '../command-line/option-values.js';
import { print } from '../command-line/output.js';
import { type DeadLetter, positionOf } from './dead-letter.js';
import { DeadLetterLog } from './dead-letter-log.js';
import { formatInFull } from './format-dead-letter.js';
import { Newest } from './newest.js';
import { type Selection } from './selection.js';
import { SelectionCommand } from './selection.command.js';

const DEFAULT_LIMIT = 10;

interface ShowOptions extends Selection {
  limit?: number;
  raw?: boolean;
}

/** `dlq show <topic>`: dead letters in full. */
@SubCommand({
  name: 'show',
  arguments: '<topic>',
  description:
    'Shows dead letters in full: cause, source, headers, and the first 64 kB of the value.',
})
export class ShowCommand extends SelectionCommand {
  async run([name = '']: string[], options: ShowOptions): Promise<void> {
    const { limit = DEFAULT_LIMIT, raw = false, ...selection } = options;
    const log = new DeadLetterLog(commandKafkaSettings());
    const topic = this.topicCalled(name, await log.topics());
    const newest = new Newest<DeadLetter>(limit);
    const signal = this.interruption();
    await log.readSelected(await log.spans(topic), { selection, signal }, (deadLetter) => {
      newest.offer(deadLetter, deadLetter);
    });
    if (signal.aborted) throw new Error('stopped before everything was read');
    const shown = newest.inOrder();
    if (shown.length === 0) throw new Error(`no such dead letter on ${topic}`);
    if (raw) {
      this.writeValue(shown, newest.offered);
      return;
    }
    for (const deadLetter of shown) formatInFull(deadLetter).forEach(print);
    if (newest.offered > shown.length) {
      print(`the newest ${shown.length} of ${newest.offered}; --limit N shows more`);
    }
  }

  private writeValue(shown: readonly DeadLetter[], found: number): void {
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

  @Option({
    flags: '--limit <number>',
    description: `of the newest dead letters; ${DEFAULT_LIMIT} unless given`,
  })
  limit(number: string): number {
    return readLimit(number);
  }

  @Option({
    flags: '--raw',
    description: 'writes the exact bytes of one value to stdout, and nothing else',
  })
  raw(): boolean {
    return true;
  }
}
