import { Argument, type Command } from 'commander';
import { type ControlledFlow, FLOWS, type GroupFlow } from '#libs/contracts';
import { askBridge, hasFields, isListOf } from '../command-line/bridge.js';
import {
  BRIDGE_OPTION,
  type BridgeOptions,
  type CliCommand,
  JSON_OPTION,
} from '../command-line/command.js';
import { readNotEmpty, whoCalls } from '../command-line/option-values.js';
import { print, printRecords, visible, visibleJson } from '../command-line/output.js';
import { timeText } from '../dlq/format-dead-letter.js';

interface ResumeOptions extends BridgeOptions {
  by?: string;
}

interface PauseOptions extends ResumeOptions {
  reason: string;
}

const BY_OPTION = [
  '--by <name>',
  'who does it; without it, the user of this host',
  readNotEmpty,
] as const;

export function addFlowsCommands(program: CliCommand): void {
  program
    .command('flows')
    .description('Lists the flows of the group: whether they run, why not, and what waits.')
    .option(...BRIDGE_OPTION)
    .option(...JSON_OPTION)
    .action(listFlows);
  addFlowCommand(program, 'pause')
    .description(
      'Pauses a flow in all processes of the group, until it is resumed. Calls under way finish; messages wait in Kafka.',
    )
    .requiredOption('--reason <text>', 'why, for those who wonder', readNotEmpty)
    .action(pauseFlow);
  addFlowCommand(program, 'resume')
    .description('Lets a flow go on that was paused by hand.')
    .action(resumeFlow);
}

function addFlowCommand(program: CliCommand, name: string): Command {
  return program
    .command(name)
    .addArgument(new Argument('<flow>', 'the flow').choices(FLOWS))
    .option(...BY_OPTION)
    .option(...BRIDGE_OPTION)
    .option(...JSON_OPTION);
}

async function listFlows({ bridge, json = false }: BridgeOptions): Promise<void> {
  const isAnswer = isListOf('name', 'state', 'processes');
  const flows = await askBridge<GroupFlow[]>(bridge, '/api/flows', isAnswer);
  printRecords(flows, json, {
    heading: ['flow', 'state', 'since', 'lag', 'waiting', 'oldest', 'processes', 'why'],
    cells: ({ name, state, since, lag, waiting, oldestWaitingSeconds, processes, why, by }) => [
      name,
      state,
      since === null ? '-' : timeText(since),
      String(lag ?? '-'),
      String(waiting),
      `${oldestWaitingSeconds} s`,
      String(processes.length),
      by === null ? (why ?? '-') : `${why} (${by})`,
    ],
  });
}

async function pauseFlow(flow: string, options: PauseOptions): Promise<void> {
  const { reason, by = whoCalls(), bridge, json = false } = options;
  await controlFlow(bridge, `${flow}/pause`, { reason, by }, json, (answer) => {
    const { name, why, before } = answer;
    const instead = before === null ? '' : `, in place of: ${before.why} (${before.by})`;
    return `${name} is paused: ${why} (${answer.by})${instead}`;
  });
}

async function resumeFlow(flow: string, options: ResumeOptions): Promise<void> {
  const { by = whoCalls(), bridge, json = false } = options;
  await controlFlow(bridge, `${flow}/resume`, { by }, json, ({ name, before }) => {
    const wasPaused =
      before === null
        ? 'it was not paused by hand'
        : `it was paused since ${timeText(before.since)}: ${before.why} (${before.by})`;
    return `${name} is resumed; ${wasPaused}`;
  });
}

async function controlFlow(
  url: string | undefined,
  path: string,
  body: Record<string, string>,
  json: boolean,
  describe: (answer: ControlledFlow) => string,
): Promise<void> {
  const isAnswer = (json: unknown): boolean => hasFields(json, 'name', 'before');
  const answer = await askBridge<ControlledFlow>(url, `/api/flows/${path}`, isAnswer, body);
  print(json ? visibleJson(answer) : visible(describe(answer)));
}
