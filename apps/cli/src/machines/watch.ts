import { realEpochMs } from '#libs/clock';
import {
  headerText,
  isJsonObject,
  type JsonObject,
  readJson,
  TOPICS,
  withoutFrame,
} from '#libs/contracts';
import { type FollowState, followTopics, type StoredRecord } from '#libs/kafka';
import { Option } from 'commander';
import { type CliCommand, JSON_OPTION, type JsonOptions } from '../command-line/command.js';
import { interruption } from '../command-line/interruption.js';
import { KAFKA_HELP, openKafka } from '../command-line/kafka.js';
import { readNotEmpty, readTime } from '../command-line/option-values.js';
import { print, printStatus, visible, visibleJson } from '../command-line/output.js';

interface WatchOptions extends JsonOptions {
  machine?: string;
  only?: keyof typeof WATCHED;
  since?: number;
}

const WATCHED = { states: TOPICS.stateChanges, outcomes: TOPICS.commandOutcomes };
/** Limit of past records for each partition, also for an early `--since`. */
const MAX_RECORDS_SINCE = 100_000;

export function addWatchCommand(program: CliCommand): void {
  program
    .command('watch')
    .description(
      'Shows changes of machine states and outcomes as they are published, until Ctrl-C.',
    )
    .option('--machine <machineId>', 'of this machine alone', readNotEmpty)
    .addOption(new Option('--only <kind>', 'one kind alone').choices(Object.keys(WATCHED)))
    .option(
      '--since <time>',
      'begins with those published since: RFC 3339 or epoch seconds',
      readTime,
    )
    .option(...JSON_OPTION)
    .addHelpText('after', KAFKA_HELP)
    .action(watch);
}

async function watch({ machine, only, since, json = false }: WatchOptions): Promise<void> {
  const { settings, kafka, existing } = await openKafka();
  const names = only === undefined ? Object.values(WATCHED) : [WATCHED[only]];
  const topics = names.map((name) => `${settings.topicPrefix}${name}`);
  const missing = topics.filter((topic) => !existing.includes(topic));
  if (missing.length > 0) {
    throw new Error(`there is no topic ${missing.join(', ')}: see KAFKA_TOPIC_PREFIX`);
  }
  const sinceMs = since === undefined ? realEpochMs() : since * 1000;
  const from = { sinceMs, maxPerPartition: MAX_RECORDS_SINCE };
  await followTopics(
    kafka,
    topics.map((topic) => ({ topic, from })),
    {
      signal: interruption(),
      onRecords: (records) => {
        for (const record of records) {
          const event = readEvent(record);
          if (machine === undefined || event.data['machineId'] === machine) {
            print(json ? visibleJson(event) : lineOf(event));
          }
        }
      },
      onState: (state, problem) => printStatus(STATES[state](problem ?? '')),
    },
  );
}

const STATES: Record<FollowState, (problem: string) => string> = {
  restoring: () => 'connected',
  up: () => 'watching; Ctrl-C ends it',
  down: (problem) => `Kafka does not answer, trying again: ${problem}`,
};

interface PublishedEvent {
  topic: string;
  partition: number;
  offset: number;
  type: string;
  time: string;
  data: JsonObject;
}

function readEvent({
  topic,
  partition,
  offset,
  headers,
  value,
  timestamp,
}: StoredRecord): PublishedEvent {
  const json = readJson(withoutFrame(value ?? Buffer.alloc(0)));
  return {
    topic,
    partition,
    offset,
    type: headerText(headers, 'ce_type') ?? '',
    time: headerText(headers, 'ce_time') ?? timeOf(timestamp),
    data: json.ok && isJsonObject(json.value) ? json.value : {},
  };
}

/** A producer may write any number, such as nanoseconds, which no date has. */
function timeOf(timestamp: string): string {
  const date = new Date(Number(timestamp));
  return Number.isNaN(date.getTime()) ? timestamp : date.toISOString();
}

function lineOf({ type, time, data }: PublishedEvent): string {
  const shown = ['previousState', 'state', 'reason', 'code', 'detail', 'workingOrders']
    .filter((name) => data[name] !== undefined && data[name] !== null)
    .map((name) => `${name}=${textOf(data[name])}`);
  return visible([time, textOf(data['machineId'] ?? '-'), type, ...shown].join('  '));
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}
