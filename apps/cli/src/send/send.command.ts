import { readFile } from 'node:fs/promises';
import { Command, Help, Option } from 'nest-commander';
import { createKafka, IdempotentProducer } from '#libs/kafka';
import { BridgeCommand } from '../command-line/bridge-command.js';
import { commandKafkaSettings, KAFKA_HELP, reachTopics } from '../command-line/command-kafka.js';
import { givenPath } from '../command-line/given-path.js';
import { identifyDocument } from './identify-document.js';
import { print } from '../command-line/terminal.js';

interface SendOptions {
  /** Without KAFKA_TOPIC_PREFIX. */
  topic?: string;
  key?: string;
  contentType?: string;
  timeZone: string;
}

interface SentRecord {
  topic: string;
  key: string | null;
  value: Buffer;
  headers: Record<string, string>;
}

/** `send <file>…`: a document from a file to its topic. Done once Kafka has acknowledged it. */
@Command({
  name: 'send',
  arguments: '[files...]',
  description: `Puts documents on the topics they belong to.

A file is recognised by what is in it: a work order list, a downtime reason, or an order in a format
the bridge reads. --topic, --key and --content-type override what was found.`,
})
export class SendCommand extends BridgeCommand {
  async run(files: string[], options: SendOptions): Promise<void> {
    if (files.length === 0) {
      throw new Error(`name a file to send\n\n${this.command.helpInformation()}`);
    }
    const settings = commandKafkaSettings();
    const kafka = createKafka(settings);
    const topics = await reachTopics(kafka, settings);
    const producer = new IdempotentProducer(kafka);
    try {
      for (const file of files) {
        const record = await recordOf(file, settings.topicPrefix, options);
        // For a topic that is not there a producer would wait for ever.
        if (!topics.includes(record.topic)) throw new Error(missing(record.topic));
        await producer.send(record);
        print(sentLine(file, record));
      }
    } finally {
      await producer.close();
    }
  }

  @Option({ flags: '--topic <name>', description: 'the topic, without KAFKA_TOPIC_PREFIX' })
  topic(name: string): string {
    return name;
  }

  @Option({ flags: '--key <key>', description: "the record's key" })
  key(key: string): string {
    return key;
  }

  @Option({ flags: '--content-type <type>', description: 'goes into the header of that name' })
  contentType(type: string): string {
    return type;
  }

  @Option({
    flags: '--time-zone <zone>',
    description: 'of local times in the documents',
    defaultValue: 'UTC',
  })
  timeZone(zone: string): string {
    return zone;
  }

  @Help('after')
  whereKafkaIs(): string {
    return KAFKA_HELP;
  }
}

/** @throws Error naming the file: others may have been sent before it */
async function recordOf(
  file: string,
  topicPrefix: string,
  options: SendOptions,
): Promise<SentRecord> {
  try {
    const value = await readFile(givenPath(file));
    const found =
      options.topic === undefined ? identifyDocument(value, options.timeZone) : undefined;
    const topic = `${topicPrefix}${options.topic ?? found?.topic ?? ''}`;
    const key = options.key ?? found?.key ?? null;
    const contentType = options.contentType ?? found?.contentType;
    const headers = contentType === undefined ? {} : { 'content-type': contentType };
    return { topic, key, value, headers };
  } catch (cause) {
    throw new Error(`${file}: ${(cause as Error).message}`, { cause });
  }
}

function sentLine(file: string, { topic, key, value }: SentRecord): string {
  return `${file} → ${topic}, key ${key ?? '(none)'}, ${value.length} bytes`;
}

function missing(topic: string): string {
  return `there is no topic ${topic}: the bridge makes its topics when it starts, named with its KAFKA_TOPIC_PREFIX`;
}
