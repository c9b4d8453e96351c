/** Actions of operators: give reasons and notes, register, open and close sheets. */
import { signal } from '@preact/signals';
import type { Session } from '../../../src/api/index.js';
import { call, createId } from './api-client.js';
import { operatorAt, type Stop, UNDO_MS } from '../model/outgoing.js';
import type { Period } from '../model/periods.js';
import { route } from './router.js';
import { addEntries } from './outbox.js';
import { nowMs, plantSeconds } from './clock.js';
import { nameOfReason, session, setSession, showToast, signInNeeded, strings } from './store.js';

/** A stop, or operating time, for which a reason is being given. */
export interface Target {
  machineId: string;
  machineName: string;
  stop: Stop;
  /** The parts that the reason is for. */
  parts: readonly Period[];
  /** Seconds of `parts` in which the machine ran, as far as known; more than 0 requires a second tap. */
  operatingSeconds?: number;
  /** Name of the reason that is replaced. */
  replaces?: string | undefined;
}

type Sheet =
  | { kind: 'reason'; targets: readonly Target[] }
  | { kind: 'operator' }
  | { kind: 'settings' }
  | { kind: 'note'; machineId: string; machineName: string };

export const sheet = signal<Sheet | null>(null);
/** Row keys of the stops picked for one reason; null unless stops are being picked. */
export const selection = signal<ReadonlySet<string> | null>(null);

// the back button shows another view than the one from which the sheet was opened
route.subscribe(closeSheet);

export function openSheet(wanted: Sheet): void {
  sheet.value = wanted;
}

export function closeSheet(): void {
  sheet.value = null;
}

/** Closes a sheet unless another kind was opened during a request. */
export function closeSheetOf(kind: Sheet['kind']): void {
  if (sheet.peek()?.kind === kind) closeSheet();
}

/** A reason for one period of a stop. */
export interface ReasonSubmission {
  target: Target;
  reasonId: string;
  period: Period;
}

export async function submitReasons(
  given: readonly ReasonSubmission[],
  overOperating: boolean,
): Promise<void> {
  // of the same moment: {@link compareSending} orders them by period
  const common = { kind: 'reason' as const, overOperating, batchId: createId() };
  const fresh = freshEntry(UNDO_MS);
  await addEntries(
    given.map(({ target: { machineId, machineName, stop }, reasonId, period }) => ({
      ...{ ...common, id: createId(), machineId, machineName, stop, reasonId },
      ...{ reasonName: nameOfReason(machineId, reasonId), ...period, ...fresh },
    })),
  );
}

export async function submitNote(
  machineId: string,
  machineName: string,
  text: string,
): Promise<void> {
  const entry = { kind: 'note' as const, id: createId(), machineId, machineName, text };
  await addEntries([{ ...entry, startTime: plantSeconds(), endTime: null, ...freshEntry(0) }]);
}

function freshEntry(undoMs: number) {
  const madeAt = plantSeconds();
  return {
    status: 'waiting' as const,
    madeAt,
    operator: operatorAt(session.peek(), madeAt),
    sendAfterMs: nowMs() + undoMs,
    tried: false,
    code: null,
    detail: null,
    settledAtMs: null,
  };
}

/** The operator to register after the next sign-in, and the end of the shift for which that holds. */
let toRegister: { operator: string; shiftEnd: number | undefined } | null = null;

signInNeeded.subscribe((needed) => {
  if (needed || toRegister === null) return;
  const { operator, shiftEnd } = toRegister;
  toRegister = null;
  if (shiftEnd === shiftEndNow()) void registerOperator(operator);
});

function shiftEndNow(): number | undefined {
  return session.peek()?.shifts[0]?.endTime;
}

export async function registerOperator(operator: string | null): Promise<boolean> {
  const answer = await call<Session>('PUT', '/api/session/operator', 'station', { operator });
  if (!answer.ok) {
    const words = strings.peek();
    if (answer.kind === 'signIn') {
      toRegister = operator === null ? null : { operator, shiftEnd: shiftEndNow() };
      // the sign-in is behind this sheet; a reason or a note that was begun is finished first
      closeSheetOf('operator');
      showToast(words.signIn, true);
      return false;
    }
    const isByProxy = answer.code === 'operator-by-proxy';
    showToast(isByProxy ? words.registeredByProxy : words.notRegistered, true);
    return false;
  }
  setSession(answer.value);
  if (operator !== null) showToast(strings.peek().registered(operator));
  return true;
}
