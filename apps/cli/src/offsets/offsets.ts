import { loadFlows, readEnvironment } from '#libs/config';
import { bridgeTopics, consumedTopics, INPUT_TOPICS, readEpochSeconds } from '#libs/contracts';
import {
  describeGroup,
  type GroupOffset,
  groupOffsets,
  type KafkaClient,
  offsetsSince,
  setGroupOffsets,
} from '#libs/kafka';
import { InvalidArgumentError } from 'commander';
import { type CliCommand, JSON_OPTION, type JsonOptions } from '../command-line/command.js';
import { inputTopicOf, KAFKA_HELP, openKafka } from '../command-line/kafka.js';
import { readCount } from '../command-line/option-values.js';
import { counted, print, printRecords, printStatus } from '../command-line/output.js';

interface ResetOptions extends JsonOptions {
  to: ResetTarget;
  partition?: number;
  yes?: boolean;
}

type ResetTarget =
  | { kind: 'earliest' }
  | { kind: 'latest' }
  | { kind: 'offset'; offset: number }
  | { kind: 'time'; epochMs: number };

/** Group states without members. */
const STOPPED_STATES = ['Empty', 'Dead'];

export function addOffsetsCommands(program: CliCommand): void {
  const offsets = program.addGroup('offsets', 'Shows and resets the offsets of the bridge.');
  offsets
    .command('show')
    .description('Shows what the consumer group has committed of each partition, and its lag.')
    .option(...JSON_OPTION)
    .addHelpText('after', KAFKA_HELP)
    .action(showOffsets);
  const reset = offsets
    .command('reset')
    .argument('<topic>', 'an input topic, with or without KAFKA_TOPIC_PREFIX')
    .description(
      'Sets the offsets of an input topic, while no bridge of the group runs. Without --yes it only says what it would do.',
    )
    .requiredOption(
      '--to <place>',
      'earliest, latest, an RFC 3339 time, or with --partition an offset',
      readTarget,
    )
    .option('--partition <number>', 'this partition alone', readCount)
    .option('--yes', 'really does it')
    .option(...JSON_OPTION)
    .addHelpText(
      'after',
      `
Messages from there on are delivered again, also those that had been finished ahead of the committed offset; those
before it are skipped. What the bridge remembers stays: see docs/cli.md.

Examples:
  machine-bridge offsets reset mes.downtime-reasons.v1 --to 2025-11-21T06:00:00Z
  machine-bridge offsets reset erp.work-order-lists.v1 --partition 2 --to 4711 --yes
${KAFKA_HELP}`,
    )
    .action(async (name: string, options: ResetOptions) => {
      if (options.to.kind === 'offset' && options.partition === undefined) {
        reset.refuseUsage('an offset is of one partition: name it with --partition');
      }
      await resetOffsets(name, options);
    });
}

/** Digits are an offset, because epoch seconds could not be distinguished from one. @throws InvalidArgumentError */
function readTarget(text: string): ResetTarget {
  if (text === 'earliest' || text === 'latest') return { kind: text };
  if (/^\d{1,15}$/.test(text)) return { kind: 'offset', offset: Number(text) };
  const time = readEpochSeconds(text);
  if (time.ok) return { kind: 'time', epochMs: time.seconds * 1000 };
  throw new InvalidArgumentError('It must be earliest, latest, an offset or an RFC 3339 time.');
}

async function showOffsets({ json = false }: JsonOptions): Promise<void> {
  const { settings, kafka, existing } = await openKafka();
  const planned = bridgeTopics({ kafka: settings, flows: loadFlows(readEnvironment()) });
  const topics = consumedTopics(planned)
    .map(({ name }) => name)
    .filter((name) => existing.includes(name));
  if (topics.length === 0)
    printStatus('There are no topics of the bridge: see KAFKA_TOPIC_PREFIX.');
  const [{ state, members }, offsets] = await Promise.all([
    describeGroup(kafka, settings.groupId),
    groupOffsets(kafka, settings.groupId, topics),
  ]);
  if (!json) print(`group ${settings.groupId}: ${state}, ${counted(members, 'member')}`);
  printRecords(offsets, json, {
    heading: ['topic', 'partition', 'first', 'committed', 'end', 'lag', 'finished ahead'],
    cells: ({ topic, partition, first, committed, end, lag, finishedAhead }) => [
      topic,
      ...[partition, first, committed ?? '-', end, lag, finishedAhead].map(String),
    ],
  });
}

async function resetOffsets(name: string, options: ResetOptions): Promise<void> {
  const { to, yes = false, json = false } = options;
  const { settings, kafka, existing } = await openKafka();
  const { groupId, topicPrefix } = settings;
  const topic = fullInputName(name, topicPrefix);
  if (!existing.includes(topic)) throw new Error(`there is no topic ${topic}`);
  const offsets = (await groupOffsets(kafka, groupId, [topic])).filter(
    ({ partition }) => options.partition === undefined || partition === options.partition,
  );
  if (offsets.length === 0) throw new Error(`${topic} has no partition ${options.partition}`);
  const targets = await targetsOf(kafka, topic, offsets, to);
  const { state, members } = await describeGroup(kafka, groupId);
  const isStopped = STOPPED_STATES.includes(state);
  if (yes && isStopped) await setGroupOffsets(kafka, { groupId, topic }, targets);
  const isDone = yes && isStopped;
  const records = offsets.map(({ partition, committed, finishedAhead, first }) => {
    const target = targets.get(partition) ?? first;
    const difference = target - (committed ?? first);
    return {
      topic,
      partition,
      committed,
      target,
      redelivered: Math.max(0, -difference),
      skipped: Math.max(0, difference),
      finishedAhead,
      done: isDone,
    };
  });
  printRecords(records, json, {
    heading: ['topic', 'partition', 'committed', 'target', 'redelivered', 'skipped'],
    cells: ({ partition, committed, target, redelivered, skipped }) => [
      topic,
      ...[partition, committed ?? '-', target, redelivered, skipped].map(String),
    ],
  });
  if (!isStopped) {
    throw new Error(
      `the group ${groupId} is ${state} with ${counted(members, 'member')}, so nothing is reset: stop every bridge of the group first`,
    );
  }
  if (json) return;
  print(yes ? 'The offsets have been reset.' : 'Nothing has been reset: add --yes to do it.');
}

/** @throws Error for an internal topic, whose reset would contradict the bridge's state */
function fullInputName(name: string, prefix: string): string {
  const input = inputTopicOf(name, prefix);
  if (input !== undefined) return `${prefix}${input}`;
  throw new Error(
    `${name} is no input topic; it is ${INPUT_TOPICS.join(', ')}. The queues of the order ledger are never reset: ` +
      'their records are deleted once they are committed',
  );
}

/** @throws Error for an offset outside the partition */
async function targetsOf(
  kafka: KafkaClient,
  topic: string,
  offsets: readonly GroupOffset[],
  to: ResetTarget,
): Promise<ReadonlyMap<number, number>> {
  const since = to.kind === 'time' ? await offsetsSince(kafka, topic, to.epochMs) : undefined;
  return new Map(
    offsets.map(({ partition, first, end }) => {
      switch (to.kind) {
        case 'earliest':
          return [partition, first];
        case 'latest':
          return [partition, end];
        case 'time':
          return [partition, since?.get(partition) ?? end];
        case 'offset':
          if (to.offset >= first && to.offset <= end) return [partition, to.offset];
          throw new Error(
            `partition ${partition} of ${topic} holds offsets from ${first} to ${end}`,
          );
        default:
          return to satisfies never;
      }
    }),
  );
}
