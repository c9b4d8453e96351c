import { readFile } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import { loadKafkaSettings, readEnvironment } from '#libs/config';
import { createKafka, Outbox } from '#libs/messaging';
import { identifyDocument } from './identify-document.js';

export const SEND_HELP = `Puts documents on the topics they belong to.

  npm run send -- <file> [<file> …] [--topic NAME] [--key KEY] [--content-type TYPE] [--time-zone ZONE]

A file is recognised by what is in it: a work order list, a downtime reason, or an order in a format
the bridge reads. --topic (without KAFKA_TOPIC_PREFIX), --key and --content-type override what was found.
Kafka is found by the KAFKA_… settings of the bridge; without KAFKA_BROKERS at 127.0.0.1:9092.
`;

/** `send <file>…`: a document from a file to its topic. Resolves once Kafka has acknowledged it. */
export async function send(args: string[], print: (line: string) => void): Promise<void> {
  const { positionals: files, values } = parseArgs({
    args,
    allowPositionals: true,
    options: {
      topic: { type: 'string' },
      key: { type: 'string' },
      'content-type': { type: 'string' },
      'time-zone': { type: 'string', default: 'UTC' },
    },
  });
  if (files.length === 0) throw new Error(`name a file to send\n\n${SEND_HELP}`);
  const settings = loadKafkaSettings({ KAFKA_BROKERS: '127.0.0.1:9092', ...readEnvironment() });
  const outbox = new Outbox(createKafka(settings));
  try {
    for (const file of files) {
      const value = await readFile(file);
      const found =
        values.topic === undefined ? identifyDocument(value, values['time-zone']) : undefined;
      const topic = `${settings.topicPrefix}${values.topic ?? found?.topic ?? ''}`;
      const key = values.key ?? found?.key ?? null;
      const contentType = values['content-type'] ?? found?.contentType;
      const headers = contentType === undefined ? {} : { 'content-type': contentType };
      await outbox.send({ topic, key, value, headers });
      print(`${file} → ${topic}, key ${key ?? '(none)'}, ${value.length} bytes`);
    }
  } finally {
    await outbox.close();
  }
}
