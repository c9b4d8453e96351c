import { Option, SubCommand } from 'nest-commander';
import { commandKafkaSettings } from '../command-line/command-kafka.js';
import { interruption } from '../command-line/interruption.js';
import { readLimit } from '../command-line/option-values.js';
import { DeadLetterLog } from './dead-letter-log.js';
import { deadLetterTopics, internalDeadLetterTopics } from './dead-letter-topics.js';
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

/** `dlq list [<topic>]`: what there is of every topic; of one, or where it is said how many, letters, a line each. */
@SubCommand({
  name: 'list',
  arguments: '[topic]',
  description:
    "Shows how much has been set aside of each input, and of the bridge's own topics where there is anything. " +
    'With a topic it lists the newest dead letters of that one, with --limit or --all alone those of all topics.',
})
export class ListCommand extends SelectingCommand {
  async run([name]: string[], options: ListOptions): Promise<void> {
    const { limit, all = false, json = false, ...selection } = options;
    const log = new DeadLetterLog(commandKafkaSettings());
    const listing = await log.topics();
    const [topics, internal] = [deadLetterTopics(listing), internalDeadLetterTopics(listing)];
    const signal = interruption();
    if (name === undefined && limit === undefined && !all) {
      await listOverview(log, topics, internal, { selection, json, signal });
    } else {
      const namesTopics = name === undefined;
      const listed = namesTopics ? [...topics, ...internal] : [this.topicCalled(name, listing)];
      const atMost = all ? Infinity : (limit ?? DEFAULT_LIMIT);
      await listLetters(log, listed, { selection, limit: atMost, json, namesTopics, signal });
    }
    if (signal.aborted) throw new Error('stopped before everything was read');
  }

  @Option({
    flags: '--limit <number>',
    description: `so many of the newest letters; ${DEFAULT_LIMIT} of a named topic unless given`,
  })
  limit(number: string): number {
    return readLimit(number);
  }

  @Option({
    flags: '--all',
    description: 'every letter, in the order in which they lie in each topic',
  })
  all(): boolean {
    return true;
  }

  @Option({ flags: '--json', description: 'an object a line, for a program' })
  json(): boolean {
    return true;
  }
}
