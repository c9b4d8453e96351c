import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { consoleConsumer } from '../../tools/kafka/console-consumer.mjs';

/** A record as Kafka's console consumer prints it. */
export interface PrintedRecord {
  /** In their order; null for a header without a value. */
  headers: readonly PrintedHeader[];
  key: string;
  value: string;
}

type PrintedHeader = readonly [name: string, value: string | null];

export interface ForeignReading {
  brokers: readonly string[];
  /** The full name, with the prefix. */
  topic: string;
  isolation: 'read_committed' | 'read_uncommitted';
  /** The consumer stops after this number of records, or when no more come. */
  records: number;
}

const NULL = '(null)';
/** Kafka 4.2 prints this where earlier versions print records; those do not know `--formatter-property`. */
const NOT_A_RECORD = 'Option --property is deprecated';
/** On a busy computer, Java takes long to start and to join a group. */
const NOTHING_MORE_MS = 60_000;
const LONGEST_MS = 120_000;

/** Reads a topic from its beginning with Java's client, which shares no code with the bridge's. */
export async function readAsForeigner(reading: ForeignReading): Promise<PrintedRecord[]> {
  const { brokers, topic, isolation, records } = reading;
  const options = {
    'bootstrap-server': brokers.join(','),
    topic,
    'isolation-level': isolation,
    'max-messages': String(records),
    'timeout-ms': String(NOTHING_MORE_MS),
  };
  const properties = [
    ...['print.headers=true', 'print.key=true'],
    ...['headers.separator=|', `null.literal=${NULL}`],
  ];
  return (await printedLines(options, properties)).map(parsePrinted);
}

/** The first `records` offsets of a topic of one partition, as Java's client reads them. */
export async function offsetsAsForeigner(
  brokers: readonly string[],
  topic: string,
  records: number,
): Promise<number[]> {
  const options = {
    'bootstrap-server': brokers.join(','),
    topic,
    'max-messages': String(records),
    'timeout-ms': String(NOTHING_MORE_MS),
  };
  const lines = await printedLines(options, ['print.offset=true', 'print.value=false']);
  return lines.map((line) => Number(line.replace('Offset:', '')));
}

async function printedLines(
  options: Readonly<Record<string, string>>,
  properties: readonly string[],
): Promise<string[]> {
  const [program, ...args] = await consoleConsumer();
  const asked = [
    '--from-beginning',
    ...Object.entries(options).flatMap(([name, value]) => [`--${name}`, value]),
    ...properties.flatMap((property) => ['--property', property]),
  ];
  const run = promisify(execFile);
  const { stdout } = await run(program, [...args, ...asked], { timeout: LONGEST_MS });
  return stdout
    .trimEnd()
    .split('\n')
    .filter((line) => !line.startsWith(NOT_A_RECORD));
}

/** Parses `name:value|name:value`, key and value, separated by tabs. */
function parsePrinted(line: string): PrintedRecord {
  const [headers = '', key = '', value = ''] = line.split('\t');
  return { headers: headers.split('|').map(parseHeader), key, value };
}

function parseHeader(printed: string): PrintedHeader {
  const colon = printed.indexOf(':');
  const value = printed.slice(colon + 1);
  return [printed.slice(0, colon), value === NULL ? null : value];
}
