import { type Rejection } from '#libs/contracts';

/** What became of a command for one machine; `machineId` is null when the message names none that is readable, or none at all. */
export type CommandResult =
  | {
      kind: 'applied';
      machineId: string | null;
      attempts: number;
      appliedAt: number;
      /** Of a list. */
      workingOrders?: readonly string[] | undefined;
    }
  | { kind: 'superseded'; machineId: string | null; attempts: number; detail: string }
  | {
      kind: 'rejected';
      machineId: string | null;
      attempts: number;
      rejection: Rejection;
      httpStatus?: number;
    };

export type RejectedResult = Extract<CommandResult, { kind: 'rejected' }>;

/** A refusal before any call; of the machine that the reason names, unless another one is given. */
export function rejection(
  reason: Rejection,
  machineId: string | null = reason.machineId ?? null,
): CommandResult {
  return { kind: 'rejected', machineId, attempts: 0, rejection: reason };
}
