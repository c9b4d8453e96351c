/** What an operator does: reasons and notes into the outbox, who works here, which sheet is open. */
import { signal } from '@preact/signals';
import type { Session } from '../../../src/api/index.js';
import { call, createId } from './api-client.js';
import { operatorAt, type Stop, UNDO_MS } from '../model/outgoing.js';
import type { Period } from '../model/periods.js';
import { route } from './router.js';
import { addEntries } from './outbox.js';
import { nowMs, plantSeconds } from './clock.js';
import { nameOfReason, session, setSession, showToast, signInNeeded, strings } from './store.js';

/** A stop that a reason is to be given for. */
export interface Target {
  machineId: string;
  machineName: string;
  stop: Stop;
  /** What of it the reason is for. */
  left: readonly Period[];
  /** Seconds of `left` in which the machine ran, as far as is known: more than 0 asks for a second tap. */
  operatingSeconds?: number;
  /** The reason that is replaced. */
  replaces?: string | undefined;
}

type Sheet =
  | { kind: 'reason'; targets: readonly Target[] }
  | { kind: 'operator' }
  | { kind: 'settings' }
  | { kind: 'note'; machineId: string; machineName: string };

export const sheet = signal<Sheet | null>(null);
/** The stops picked while several are selected, by the key of their row; null: none are being selected. */
export const selection = signal<ReadonlySet<string> | null>(null);

// what the back button leads to is another view than the one that the sheet was opened from
route.subscribe(closeSheet);

export function openSheet(wanted: Sheet): void {
  sheet.value = wanted;
}

export function closeSheet(): void {
  sheet.value = null;
}

/** What waited for an answer closes no sheet that was opened meanwhile. */
export function closeSheetOf(kind: Sheet['kind']): void {
  if (sheet.peek()?.kind === kind) closeSheet();
}

/** Which reason is given for which period of a stop. */
export interface GivenReason {
  target: Target;
  reasonId: string;
  period: Period;
}

export async function submitReasons(
  given: readonly GivenReason[],
  overOperating: boolean,
): Promise<void> {
  // of the same moment, so that they are sent in order
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

/** Who is registered once the station is signed in again, and the end of the shift that this is for. */
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
      // the sign-in lies behind it; a reason or a note that was begun comes first
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
