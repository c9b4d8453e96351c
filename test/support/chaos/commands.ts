import { TOPICS } from '#libs/contracts';
import type { LoggedCall } from '../sandbox-control.js';
import type { Message } from '../stock-kafkajs.js';

/** The two kinds of command whose calls these tests watch. */
export const COMMAND_KINDS = ['list', 'reason'] as const;
export type CommandKind = (typeof COMMAND_KINDS)[number];

/** A numbered command of a machine: `number` counts those of its kind from 0. */
export interface Command {
  kind: CommandKind;
  machineId: string;
  number: number;
}

export const TOPIC_OF = {
  list: TOPICS.workOrderLists,
  reason: TOPICS.downtimeReasons,
} as const satisfies Record<CommandKind, string>;

export const OPERATION_OF = {
  list: 'setWorkOrderList',
  reason: 'setMachineClassification',
} as const satisfies Record<CommandKind, string>;

/** A reason that every machine of the sandbox has. */
export const REASON_ID = '11';
/** Start of a machine's first reason, epoch seconds; each later reason starts a second after the previous one. */
const FIRST_START = 1_760_000_000;

/** The message of the command; its key and number identify all records and calls that follow from it. */
export function commandMessage(command: Command): Message {
  return {
    key: command.machineId,
    value: JSON.stringify(bodyOf(command)),
    headers: { 'message-id': commandId(command) },
  };
}

export function commandId({ kind, machineId, number }: Command): string {
  return `${kind}/${machineId}/${number}`;
}

export function readCommandId(id: string): Command {
  const [, kind, machineId = '', number] = /^(list|reason)\/(.+)\/(\d+)$/.exec(id) ?? [];
  if (number === undefined) throw new Error(`${id} is no command of a test`);
  return { kind: kind as CommandKind, machineId, number: Number(number) };
}

/** The commands in a call of the service: one reason, or the lists of many machines. */
export function commandsOf({ operation, body }: LoggedCall): Command[] {
  if (operation === OPERATION_OF.reason) {
    const { machineId, startTime } = body as { machineId: string; startTime: number };
    return [{ kind: 'reason', machineId, number: startTime - FIRST_START }];
  }
  if (operation !== OPERATION_OF.list) return [];
  const { machines } = body as { machines: { machineId: string; workingOrders: string[] }[] };
  return machines.map(({ machineId, workingOrders }) => {
    return { kind: 'list', machineId, number: numberOfList(workingOrders) };
  });
}

/** The number of the command that a list comes from; -1 if no list was set. */
export function numberOfList(workingOrders: readonly string[]): number {
  return Number(workingOrders[0] ?? -1);
}

function bodyOf({ kind, machineId, number }: Command): object {
  if (kind === 'list') return { machineId, workingOrders: [String(number)] };
  const startTime = FIRST_START + number;
  return { machineId, reasonId: REASON_ID, startTime, endTime: startTime + 1 };
}
