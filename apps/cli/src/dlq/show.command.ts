import { Option, SubCommand } from 'nest-commander';
import { commandKafkaSettings } from '../command-line/command-kafka.js';
import { interruption } from '../command-line/interruption.js';
import { readLimit } from '../command-line/option-values.js';
import { print } from '../command-line/terminal.js';
import { DeadLetterLog } from './dead-letter-log.js';
import { letterInFull } from './letter-in-full.js';
import { isSelected, type LetterSelection, spansOfSelection } from './letter-selection.js';
import { Newest } from './newest.js';
import { SelectingCommand } from './selecting-command.js';
import { placeOf, type StoredLetter } from './stored-letter.js';

const DEFAULT_LIMIT = 10;

interface ShowOptions extends LetterSelection {
  limit?: number;
  raw?: boolean;
}

/** `dlq show <topic>`: letters in full. */
@SubCommand({
  name: 'show',
  arguments: '<topic>',
  description:
    'Shows dead letters in full: why, where from, headers, and the first 64 kB of the value.',
})
export class ShowCommand extends SelectingCommand {
  async run([name = '']: string[], options: ShowOptions): Promise<void> {
    const { limit = DEFAULT_LIMIT, raw = false, ...selection } = options;
    const log = new DeadLetterLog(commandKafkaSettings());
    const topic = this.topicCalled(name, await log.topics());
    const newest = await this.find(log, topic, selection, limit);
    const letters = newest.inOrder();
    if (letters.length === 0) throw new Error(`no such dead letter on ${topic}`);
    if (raw) {
      this.writeValue(letters, newest.offered);
      return;
    }
    for (const letter of letters) letterInFull(letter).forEach(print);
    if (newest.offered > letters.length) {
      print(`the newest ${letters.length} of ${newest.offered}; --limit N shows more`);
    }
  }

  private async find(
    log: DeadLetterLog,
    topic: string,
    selection: LetterSelection,
    limit: number,
  ): Promise<Newest<StoredLetter>> {
    const newest = new Newest<StoredLetter>(limit);
    const signal = interruption();
    await log.read(spansOfSelection(await log.spans(topic), selection), {
      signal,
      onLetters: (letters) => {
        for (const letter of letters) {
          if (isSelected(letter, selection)) newest.offer(letter, letter);
        }
      },
    });
    if (signal.aborted) throw new Error('stopped before everything was read');
    return newest;
  }

  private writeValue(letters: readonly StoredLetter[], found: number): void {
    const [letter] = letters;
    if (letter === undefined || found > 1) {
      const places = letters.map(placeOf).join(', ');
      throw new Error(
        `--raw writes one value, and ${found} letters match (partition/offset: ${places}); ` +
          'name one with --partition and --offset',
      );
    }
    process.stdout.write(letter.record.value ?? '');
  }

  @Option({
    flags: '--limit <number>',
    description: `of the newest letters; ${DEFAULT_LIMIT} unless given`,
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
