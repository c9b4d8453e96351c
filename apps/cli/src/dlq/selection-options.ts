import { Option } from 'commander';
import { REJECTION_CODES } from '#libs/contracts';
import type { CliCommand } from '../command-line/command.js';
import { KAFKA_HELP } from '../command-line/kafka.js';
import { readCount, readTime } from '../command-line/option-values.js';
import { findDeadLetterTopic, type TopicListing } from './dead-letter-topics.js';
import type { Selection } from './selection.js';

const TOPIC_HELP = `
The topic is an input topic or its dead-letter topic, with or without KAFKA_TOPIC_PREFIX. A dead letter must
match all options that are given.
${KAFKA_HELP}`;

/** Adds the options that select dead letters; their names are the fields of a Selection. */
export function withSelection(command: CliCommand): CliCommand {
  return command
    .addOption(new Option('--code <code>', 'rejected with this code').choices(REJECTION_CODES))
    .option('--machine <machineId>', 'concerns this machine')
    .option('--partition <number>', 'in this partition', readCount)
    .option('--offset <number>', 'at this offset', readCount)
    .option('--since <time>', 'failed then or later: RFC 3339 or epoch seconds', readTime)
    .option('--until <time>', 'failed before: RFC 3339 or epoch seconds', readTime)
    .addHelpText('after', TOPIC_HELP);
}

const CRITERIA = ['code', 'machine', 'partition', 'offset', 'since', 'until'] as const;

/** The criteria among the options of a command. */
export function selectionOf(options: Selection): Selection {
  const given = CRITERIA.filter((name) => options[name] !== undefined);
  return Object.fromEntries(given.map((name) => [name, options[name]]));
}

/** @throws Error that lists the existing topics */
export function topicCalled(name: string, listing: TopicListing): string {
  const found = findDeadLetterTopic(name, listing);
  if (!found.ok) throw new Error(found.problem);
  return found.topic;
}
