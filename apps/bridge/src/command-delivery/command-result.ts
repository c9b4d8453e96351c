import { type Rejection } from '#libs/contracts';

/** What became of a command for one machine; `machineId` is null when the message names no readable one. */
export type CommandResult =
  | { kind: 'applied'; machineId: string; attempts: number; appliedAt: number }
  | { kind: 'superseded'; machineId: string; attempts: number; detail: string }
  | {
      kind: 'rejected';
      machineId: string | null;
      attempts: number;
      rejection: Rejection;
      httpStatus?: number;
    };

export function rejection(machineId: string | null, reason: Rejection): CommandResult {
  return { kind: 'rejected', machineId, attempts: 0, rejection: reason };
}
