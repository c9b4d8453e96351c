import { Help, Option } from 'nest-commander';
import { type RejectionCode } from '#libs/contracts';
import { BridgeCommand } from '../command-line/bridge-command.js';
import { KAFKA_HELP } from '../command-line/command-kafka.js';
import { readCode, readCount, readTime } from '../command-line/option-values.js';
import { findDeadLetterTopic, type TopicListing } from './dead-letter-topics.js';

const TOPIC_HELP = `
The topic is that of the input or of its dead letters, with or without KAFKA_TOPIC_PREFIX. Of several
options, all must apply to a letter.
${KAFKA_HELP}`;

/** The options by which letters are selected; their names are those of a LetterSelection. */
export abstract class SelectingCommand extends BridgeCommand {
  @Option({ flags: '--code <code>', description: 'set aside for this reason' })
  code(code: string): RejectionCode {
    return readCode(code);
  }

  @Option({ flags: '--machine <machineId>', description: 'about this machine' })
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
  whatATopicIs(): string {
    return TOPIC_HELP;
  }

  /** @throws Error that names the topics there are */
  protected topicCalled(name: string, listing: TopicListing): string {
    const found = findDeadLetterTopic(name, listing);
    if (!found.ok) throw new Error(found.problem);
    return found.topic;
  }
}
