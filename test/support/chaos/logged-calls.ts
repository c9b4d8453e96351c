import type { LoggedCall } from '../sandbox-control.js';
import { type Command, commandMessage, OPERATION_OF } from './commands.js';

const DURATION_MS = 10;

/** A made-up log entry for a call that carries one command; each call begins when the previous one has ended. */
export function callOf(command: Command, sequence: number): LoggedCall {
  const value = JSON.parse(String(commandMessage(command).value)) as object;
  const startedAtMs = sequence * DURATION_MS;
  return {
    sequence,
    receivedAt: 0,
    operation: OPERATION_OF[command.kind],
    machineIds: [command.machineId],
    status: 200,
    traceparent: null,
    body: command.kind === 'list' ? { machines: [value] } : value,
    startedAtMs,
    endedAtMs: startedAtMs + DURATION_MS,
    carriedOutAtMs: startedAtMs + DURATION_MS,
    faultId: null,
  };
}
