import { Option, SubCommand } from 'nest-commander';
import { commandKafkaSettings } from '../command-kafka.js';
import { interruption } from '../interruption.js';
import { readLimit } from '../option-values.js';
import { DeadLetterLog } from './dead-letter-log.js';
import { deadLetterTopics } from './dead-letter-topics.js';
import { type LetterSelection } from './letter-selection.js';
import { listLetters } from './list-letters.js';
import { listOverview } from './list-overview.js';
import { SelectingCommand } from './selecting-command.js';

const DEFAULT_LIMIT = 50;

interface ListOptions extends LetterSelection {
  limit?: number;
  all?: boolean;
  json?: boolean;
}

/** `dlq list [<topic>]`: what there is of every topic, or the letters of one, a line each. */
@SubCommand({
  name: 'list',
  arguments: '[topic]',
  description: 'Shows how much has been set aside, or the newest dead letters of one topic.',
})
export class ListCommand extends SelectingCommand {
  async run([name]: string[], options: ListOptions): Promise<void> {
    const { limit = DEFAULT_LIMIT, all = false, json = false, ...selection } = options;
    const log = new DeadLetterLog(commandKafkaSettings());
    const listing = await log.topics();
    const signal = interruption();
    if (name === undefined) {
      await listOverview(log, deadLetterTopics(listing), { selection, json, signal });
    } else {
      const shown = { selection, limit: all ? Infinity : limit, json, signal };
      await listLetters(log, this.topicCalled(name, listing), shown);
    }
    if (signal.aborted) throw new Error('stopped before everything was read');
  }

  @Option({
    flags: '--limit <number>',
    description: `of the newest letters; ${DEFAULT_LIMIT} unless given`,
  })
  limit(number: string): number {
    return readLimit(number);
  }

  @Option({
    flags: '--all',
    description: 'every letter, in the order in which they lie in the topic',
  })
  all(): boolean {
    return true;
  }

  @Option({ flags: '--json', description: 'an object a line, for a program' })
  json(): boolean {
    return true;
  }
}
