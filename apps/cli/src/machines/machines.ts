import { Option } from 'commander';
import {
  isJsonObject,
  type JsonObject,
  MACHINE_STATES,
  type MachineRegistryRecord,
  type MachineStateRecord,
  readJson,
  TOPICS,
  withoutFrame,
} from '#libs/contracts';
import { readSpans, type StoredRecord, topicSpans } from '#libs/kafka';
import { askBridge, isListOf } from '../command-line/bridge.js';
import { type CliCommand, JSON_OPTION, type JsonOptions } from '../command-line/command.js';
import { interruption } from '../command-line/interruption.js';
import { KAFKA_HELP, openKafka } from '../command-line/kafka.js';
import { readUrl } from '../command-line/option-values.js';
import { print, printProgress, printRecords } from '../command-line/output.js';
import { timeText } from '../dlq/format-dead-letter.js';

const OBSERVATIONS = ['ok', 'noData', 'stale', 'unreachable', 'forbidden'];

interface MachinesOptions extends JsonOptions {
  factory?: string;
  state?: string;
  observation?: string;
  bridge?: string | true;
}

interface Machine extends MachineRegistryRecord {
  /** Null until the machine's first observation. */
  state: MachineStateRecord | null;
}

export function addMachinesCommand(program: CliCommand): void {
  program
    .command('machines')
    .argument('[text]', 'only machines whose id or name holds it')
    .description(
      'Lists the machines that the token may see, with their latest states, as the bridges of the group have published them.',
    )
    .option('--factory <factoryId>', 'of this factory')
    .addOption(new Option('--state <state>', 'in this state').choices(MACHINE_STATES))
    .addOption(new Option('--observation <observation>', 'observed so').choices(OBSERVATIONS))
    .option(
      '--bridge [url]',
      'asks a running bridge, which knows the states of its own machines',
      readUrl,
    )
    .option(...JSON_OPTION)
    .addHelpText(
      'after',
      `
Examples:
  machine-bridge machines --state OFF
  machine-bridge machines --json | jq -r .machineId
${KAFKA_HELP}`,
    )
    .action(listMachines);
}

async function listMachines(text: string | undefined, options: MachinesOptions): Promise<void> {
  const { bridge, factory, state, observation, json = false } = options;
  const all =
    bridge === undefined
      ? await publishedMachines()
      : await askBridge<Machine[]>(
          bridge === true ? undefined : bridge,
          '/api/machines',
          isListOf('machineId', 'displayName', 'factoryId', 'state'),
        );
  const found = all.filter(
    (machine) =>
      (text === undefined || matchesText(machine, text)) &&
      (factory === undefined || machine.factoryId === factory) &&
      (state === undefined || machine.state?.state === state) &&
      (observation === undefined || machine.state?.observation === observation),
  );
  printRecords(found, json, {
    heading: ['machine', 'state', 'since', 'observation', 'factory', 'name'],
    cells: ({ machineId, displayName, factoryId, state: known }) => [
      machineId,
      known?.state ?? '-',
      known?.startTime == null ? '-' : timeText(known.startTime),
      known?.observation ?? '-',
      factoryId,
      displayName,
    ],
  });
  if (!json) print(`${found.length} of ${all.length} machines`);
}

function matchesText({ machineId, displayName }: Machine, text: string): boolean {
  return `${machineId}\n${displayName}`.toLowerCase().includes(text.toLowerCase());
}

async function publishedMachines(): Promise<Machine[]> {
  const { settings, kafka, existing } = await openKafka();
  const registry = settings.topicPrefix + TOPICS.registry;
  const states = settings.topicPrefix + TOPICS.states;
  if (!existing.includes(registry)) {
    throw new Error(
      `there is no topic ${registry}: a bridge with the flow machine-states publishes it; see KAFKA_TOPIC_PREFIX`,
    );
  }
  const machines = new Map<string, MachineRegistryRecord>();
  const latestStates = new Map<string, MachineStateRecord>();
  const topics = [registry, states].filter((topic) => existing.includes(topic));
  const spans = (await Promise.all(topics.map((topic) => topicSpans(kafka, topic)))).flat();
  const signal = interruption();
  printProgress(`reading ${topics.join(' and ')}`);
  await readSpans(kafka, spans, {
    signal,
    onRecords: (records) => {
      for (const record of records) {
        if (record.topic === registry) applyLatest(machines, record, isRegistryRecord);
        else applyLatest(latestStates, record, isStateRecord);
      }
    },
  });
  if (signal.aborted) throw new Error('stopped before everything was read');
  return [...machines.values()]
    .map((machine) => ({ ...machine, state: latestStates.get(machine.machineId) ?? null }))
    .sort((a, b) => a.machineId.localeCompare(b.machineId));
}

/** Applies a record to the latest values; a tombstone deletes its key, and so does a record of another program. */
function applyLatest<T>(
  latest: Map<string, T>,
  { key, value }: StoredRecord,
  isOwn: (fields: JsonObject) => boolean,
): void {
  const json = value === null ? undefined : readJson(withoutFrame(value));
  const fields = json?.ok === true && isJsonObject(json.value) ? json.value : undefined;
  const isOfMachine = fields?.['machineId'] === String(key) && isOwn(fields);
  if (isOfMachine) latest.set(String(key), fields as T);
  else latest.delete(String(key));
}

function isRegistryRecord({ displayName, factoryId }: JsonObject): boolean {
  return typeof displayName === 'string' && typeof factoryId === 'string';
}

function isStateRecord({ state, startTime, observation }: JsonObject): boolean {
  const isKnown = typeof state === 'string' && typeof startTime === 'number';
  return (isKnown || state === null) && typeof observation === 'string';
}
