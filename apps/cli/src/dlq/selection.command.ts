import { Help, Option } from 'nest-commander';
import { type RejectionCode } from '#libs/contracts';
import { BaseCommand } from '../command-line/base-command.js';
import { KAFKA_HELP } from '../command-line/kafka.js';
import { readCode, readCount, readTime } from '../command-line/option-values.js';
import { findDeadLetterTopic, type TopicListing } from './dead-letter-topics.js';

const TOPIC_HELP = `
The topic is an input topic or its dead-letter topic, with or without KAFKA_TOPIC_PREFIX. A dead letter must
match all options that are given.
${KAFKA_HELP}`;

/** A command with options that select dead letters; their names are the fields of a Selection. */
export abstract class SelectionCommand extends BaseCommand {
  @Option({ flags: '--code <code>', description: 'rejected with this code' })
  code(code: string): RejectionCode {
    return readCode(code);
  }

  @Option({ flags: '--machine <machineId>', description: 'concerns this machine' })
  machine(machineId: string): string {
    return machineId;
  }

  @Option({ flags: '--partition <number>', description: 'in this partition' })
  partition(number: string): number {
    return readCount(number);
  }

  @Option({ flags: '--offset <number>', description: 'at this offset' })
  offset(number: string): number {
    return readCount(number);
  }

  @Option({
    flags: '--since <time>',
    description: 'failed then or later: RFC 3339 or epoch seconds',
  })
  since(time: string): number {
    return readTime(time);
  }

  @Option({ flags: '--until <time>', description: 'failed before: RFC 3339 or epoch seconds' })
  until(time: string): number {
    return readTime(time);
  }

  @Help('after')
  topicHelp(): string {
    return TOPIC_HELP;
  }

  /** @throws Error that lists the existing topics */
  protected topicCalled(name: string, listing: TopicListing): string {
    const found = findDeadLetterTopic(name, listing);
    if (!found.ok) throw new Error(found.problem);
    return found.topic;
  }

  /** Aborts at the first Ctrl-C or SIGTERM, so that the command stops safely; a second one ends the process. */
  protected interruption(): AbortSignal {
    const interrupted = new AbortController();
    for (const signal of ['SIGINT', 'SIGTERM'] as const) {
      process.once(signal, () => {
        interrupted.abort();
      });
    }
    return interrupted.signal;
  }
}
