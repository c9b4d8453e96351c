import { IdempotentProducer, MAX_RECORD_BYTES } from '#libs/kafka';
import { isJsonObject, type JsonObject, readJson, type TopicName, TOPICS } from '#libs/contracts';
import { readOrderDocument } from '#libs/erp-formats';
import { type CliCommand, JSON_OPTION, type JsonOptions } from '../command-line/command.js';
import { EXIT_CODES } from '../command-line/exit-codes.js';
import { inputTopicOf, KAFKA_HELP, openKafka } from '../command-line/kafka.js';
import {
  readNotEmpty,
  readPath,
  readUpTo,
  unreadableBecause,
} from '../command-line/option-values.js';
import { print, visible, visibleJson } from '../command-line/output.js';

interface SendOptions extends JsonOptions {
  /** An input topic with or without KAFKA_TOPIC_PREFIX; another one without. */
  topic?: string;
  key?: string;
  contentType?: string;
}

interface SentRecord {
  topic: string;
  key: string | null;
  value: Buffer;
  headers: Record<string, string>;
}

export function addSendCommand(program: CliCommand): void {
  program
    .command('send')
    .argument('<files...>')
    .description(
      `Sends documents to the topics they belong to.

A file is recognised by its content: a work order list, a downtime reason, or an order in a format that the bridge \
reads. --topic, --key and --content-type override what was recognised; to another topic it is sent without the key and \
content type that were.`,
    )
    .option(
      '--topic <name>',
      'an input topic, with or without KAFKA_TOPIC_PREFIX; another one, without',
      readNotEmpty,
    )
    .option('--key <key>', "the record's key", readNotEmpty)
    .option('--content-type <type>', 'the content-type header', readNotEmpty)
    .option(...JSON_OPTION)
    .addHelpText('after', KAFKA_HELP)
    .showHelpAfterError()
    .action(sendFiles);
}

async function sendFiles(files: readonly string[], options: SendOptions): Promise<void> {
  const { settings, kafka, existing } = await openKafka();
  const producer = new IdempotentProducer(kafka);
  // sending goes on when the reader of stdout, such as head, closes the pipe
  process.stdout.removeAllListeners('error').on('error', ({ code }: NodeJS.ErrnoException) => {
    if (code !== 'EPIPE') process.exitCode = EXIT_CODES.failed;
  });
  try {
    for (const file of files) {
      const record = await recordOf(file, settings.topicPrefix, options);
      // a producer would wait forever for a missing topic
      if (!existing.includes(record.topic)) throw new Error(missingTopicText(record.topic));
      await producer.sendRecord(record);
      const { topic, key, value } = record;
      if (options.json === true) print(visibleJson({ file, topic, key, bytes: value.length }));
      else print(visible(sentLine(file, record)));
    }
  } finally {
    await producer.closeProducer();
  }
}

/** @throws Error that names the file, because earlier ones may have been sent */
async function recordOf(
  file: string,
  topicPrefix: string,
  options: SendOptions,
): Promise<SentRecord> {
  try {
    const value = await readUpTo(readPath(file), MAX_RECORD_BYTES);
    if (value.length > MAX_RECORD_BYTES)
      throw new Error(
        `it has more than ${MAX_RECORD_BYTES} bytes, which is more than is sent at once`,
      );
    const asked = options.topic && (inputTopicOf(options.topic, topicPrefix) ?? options.topic);
    const found = asked === undefined ? identifyDocument(value) : identifyFor(asked, value);
    const topic = `${topicPrefix}${asked ?? found?.topic ?? ''}`;
    const key = options.key ?? found?.key ?? null;
    const contentType = options.contentType ?? found?.contentType;
    const headers = contentType === undefined ? {} : { 'content-type': contentType };
    return { topic, key, value, headers };
  } catch (cause) {
    throw new Error(`${file}: ${unreadableBecause(cause)}`, { cause });
  }
}

/** Undefined for a document of another topic or an unknown format, which the bridge's mapping file may read. */
function identifyFor(topic: string, value: Buffer): IdentifiedDocument | undefined {
  try {
    const found = identifyDocument(value);
    return found.topic === topic ? found : undefined;
  } catch {
    return undefined;
  }
}

function sentLine(file: string, { topic, key, value }: SentRecord): string {
  return `${file} → ${topic}, key ${key ?? '(none)'}, ${value.length} bytes`;
}

function missingTopicText(topic: string): string {
  return `there is no topic ${topic}: the bridge makes its topics when it starts, named with its KAFKA_TOPIC_PREFIX`;
}

interface IdentifiedDocument {
  topic: TopicName;
  key: string;
  contentType: string;
}

/**
 * Identifies a document by its shape: a list has `workingOrders` or `machines`, a reason has `reasonId` or `reason`,
 * any other document must be an order in a format that the bridge reads. A document with `orderId` and `status` is
 * always an order, because a cancelled order may have a `reason`.
 *
 * @throws Error with the fault of a document of neither kind
 */
export function identifyDocument(body: Buffer): IdentifiedDocument {
  const json = readJson(body);
  const fields = json.ok && isJsonObject(json.value) ? json.value : {};
  const contentType = json.ok ? 'application/json' : 'application/xml';
  const isOrder = 'orderId' in fields && 'status' in fields;
  if (!isOrder && ('workingOrders' in fields || 'machines' in fields)) {
    return { topic: TOPICS.workOrderLists, key: firstMachineId(fields), contentType };
  }
  if (!isOrder && ('reasonId' in fields || 'reason' in fields)) {
    return { topic: TOPICS.downtimeReasons, key: text(fields['machineId']), contentType };
  }
  // without a content type, the syntax is detected, which gives a better error for an invalid document; zone and
  // recordedAt have no effect, because only the order id is used
  const document = { contentType: null, body, recordedAt: 0 };
  const orders = readOrderDocument(document, { timeZone: 'UTC' });
  // the bridge's mapping file, which is not read here, may apply to the document
  if (!orders.ok) throw new Error(`${orders.rejection.detail}; --topic sends it all the same`);
  const key = orders.value[0]?.order.orderId ?? '';
  return { topic: TOPICS.workOrders, key, contentType };
}

function firstMachineId({ machineId, machines }: JsonObject): string {
  if (machineId !== undefined) return text(machineId);
  const first: unknown = Array.isArray(machines) ? machines[0] : undefined;
  return isJsonObject(first) ? text(first['machineId']) : '';
}

function text(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
