import { realNowMs } from '#libs/clock';
import { describeUnauthorised, type Unauthorised } from '#libs/cloud-client';
import { backOffMs, type BackOffOptions } from '#libs/delivery';

/** An answer of the service to a command, by its meaning for the caller, see docs/operations.md. */
export type ServiceAnswer =
  | { kind: 'data' | 'noData' }
  | { kind: 'rejected'; status: number; detail: string }
  | { kind: 'retry'; afterMs: number | null; error: Error }
  | Unauthorised;

export type Rejected = Extract<ServiceAnswer, { kind: 'rejected' }>;

export type Verdict =
  | { kind: 'applied' }
  | Rejected
  | { kind: 'retry'; waitMs: number; retryAfterMs: number; why: string; cause: RetryCause };

/**
 * `forbidden` may be the fault of the token or of one machine, `unlisted-status` (a refusal that the interface does not
 * list) of the message or of the route. Calls for other machines decide which.
 */
export type RetryCause = 'service' | 'token-refused' | 'forbidden' | 'unlisted-status';

export const RETRY_BACK_OFF: BackOffOptions = { baseMs: 200, capMs: 10_000 };
export const FORBIDDEN = 403;
/** The interface lists it for both writing operations, as the fault of the message. */
const UNPROCESSABLE = 422;
const NOT_FOR_MACHINE: Rejected = {
  kind: 'rejected',
  status: FORBIDDEN,
  detail: 'the token may not do this for the machine, while it may for others',
};

/** `attempt` counts from 1. */
export function classifyAnswer(answer: ServiceAnswer, attempt: number): Verdict {
  switch (answer.kind) {
    case 'data':
    case 'noData':
      return { kind: 'applied' };
    case 'rejected':
      return answer;
    case 'retry':
      return retryFor('service', answer.error.message, attempt, answer.afterMs ?? 0);
    case 'unauthorised':
      if (answer.status === FORBIDDEN) return NOT_FOR_MACHINE;
      return retryFor('token-refused', describeUnauthorised(answer), attempt);
    default:
      return answer satisfies never;
  }
}

/** `Retry-After` is the floor of the wait, never shortened by jitter. */
function retryFor(cause: RetryCause, why: string, attempt: number, retryAfterMs = 0): Verdict {
  const waitMs = Math.max(backOffMs(attempt, RETRY_BACK_OFF), retryAfterMs);
  return { kind: 'retry', waitMs, retryAfterMs, why, cause };
}

/** Whether a refusal may be the fault of the token (403) or of the route to the service rather than of its message. */
export function isDoubtful(verdict: Verdict): verdict is Rejected {
  return verdict.kind === 'rejected' && verdict.status !== UNPROCESSABLE;
}

/** The verdict on a doubtful refusal while its cause is undecided. */
export function whileUndecided({ status, detail }: Rejected, attempt: number): Verdict {
  if (status === FORBIDDEN) {
    return retryFor('forbidden', describeUnauthorised({ kind: 'unauthorised', status }), attempt);
  }
  const why =
    `${detail}; the interface lists no such answer: ` +
    'see MACHINE_CLOUD_BASE_URL and what stands between the bridge and the service';
  return retryFor('unlisted-status', why, attempt);
}

/** A call that has begun, and the flow's state at that time. Numbers count the flow's calls in the order of begin. */
export interface StartedCall {
  readonly number: number;
  /** The highest number of a call that the service had taken when this one began; 0 if there was none. */
  readonly latestApplied: number;
  /** The same of a call that the service had taken, or refused with a status that the interface lists. */
  readonly latestAnswered: number;
  /** Real milliseconds. */
  readonly startedMs: number;
}

/** A doubtful refusal of a command that was alone in its call. */
export interface DoubtedRefusal {
  readonly status: number;
  /** The number of the latest call that had begun when the command was first answered with this status. */
  readonly sinceCall: number;
  /** When the first call with this answer began, in real milliseconds. */
  readonly startedMs: number;
  /** A call for the machine went well directly before: the token has lost its right since. */
  readonly wasAllowed: boolean;
}

/** The command is at fault, or that is undecided, or an empty call is to decide it. */
type Review = 'at-fault' | 'undecided' | 'call-empty';

/** How long a machine must have been refused before a success beside its first call counts against it. */
const REFUSED_LONG_MS = 2000;
/** A call that began at most this long before the other call counts as beside it. */
const BESIDE_MS = 1000;
/** Commands rejected because of empty calls until one is applied: beyond it, more than these messages is wrong. */
const MOST_BY_EMPTY_CALLS = 3;

/**
 * Decides whose fault a doubtful refusal is. A token without a right, a wrong path, a gateway or a maintenance page
 * answers every call with the same status, and the messages are not at fault. So a status counts against a command only
 * if the command gets it again after a call that began later has gone well: after a 403, a call that was taken;
 * otherwise also one that was refused with a listed status. Calls that had begun earlier prove nothing, since the token
 * may have lost its right in between.
 *
 * In a quiet plant there may be no other call. Then a call that went well beside the first one counts against a machine
 * that alone is answered 403 for a while, and an empty call against any other command. Each flow has one instance.
 */
export class Refusals {
  private latestBegun = 0;
  private latestApplied = { number: 0, startedMs: -Infinity };
  private latestAnswered = 0;
  private latestEmptyAnswered = 0;
  private givenUpByEmptyCalls = 0;
  private readonly applied = new LatestApplied();
  /** The machine answered 403 last, and when; and when a different machine was before it. */
  private latestForbidden = { machineId: '', atMs: -Infinity };
  private otherForbiddenMs = -Infinity;

  startCall(): StartedCall {
    this.latestBegun += 1;
    const { latestBegun: number, latestAnswered } = this;
    const latestApplied = this.latestApplied.number;
    return { number, latestApplied, latestAnswered, startedMs: realNowMs() };
  }

  /** The service has taken a call for the machines `appliedTo`, or refused a call with a listed status. */
  recordAnswered(call: StartedCall, appliedTo: readonly { machineId: string }[] = []): void {
    this.latestAnswered = Math.max(this.latestAnswered, call.number);
    if (appliedTo.length === 0) return;
    this.applied.noteApplied(appliedTo, call.startedMs);
    this.givenUpByEmptyCalls = 0;
    if (call.number > this.latestApplied.number) this.latestApplied = call;
  }

  recordEmptyAnswered({ number }: StartedCall): void {
    this.latestEmptyAnswered = Math.max(this.latestEmptyAnswered, number);
  }

  /** Judges a doubtful refusal of a command alone in its call; stores the first with a status in the command. */
  reviewRefusal(
    command: { readonly machineId: string; doubtfulRefusal: DoubtedRefusal | undefined },
    status: number,
    call: StartedCall,
  ): Review {
    const { machineId, doubtfulRefusal: earlier } = command;
    if (status === FORBIDDEN) this.noteForbidden(machineId);
    if (earlier?.status === status) return this.reviewAgain(earlier, call);
    const { startedMs } = call;
    const wasAllowed = this.applied.startedMsOf(machineId) >= startedMs - BESIDE_MS;
    command.doubtfulRefusal = { status, sinceCall: this.latestBegun, startedMs, wasAllowed };
    return 'undecided';
  }

  private reviewAgain(doubted: DoubtedRefusal, call: StartedCall): Review {
    const { status, sinceCall } = doubted;
    if (status === FORBIDDEN) {
      const isShown = call.latestApplied > sinceCall || this.isAlone(doubted, call);
      return isShown ? 'at-fault' : 'undecided';
    }
    if (call.latestAnswered > sinceCall) return 'at-fault';
    if (this.givenUpByEmptyCalls >= MOST_BY_EMPTY_CALLS) return 'undecided';
    if (this.latestEmptyAnswered <= sinceCall) return 'call-empty';
    this.givenUpByEmptyCalls += 1;
    return 'at-fault';
  }

  private noteForbidden(machineId: string): void {
    const { latestForbidden } = this;
    if (machineId !== latestForbidden.machineId) this.otherForbiddenMs = latestForbidden.atMs;
    this.latestForbidden = { machineId, atMs: realNowMs() };
  }

  /** Whether only the latest machine has been answered 403 for a while, and others got through beside its first. */
  private isAlone(doubted: DoubtedRefusal, { startedMs }: StartedCall): boolean {
    const besideMs = doubted.startedMs - BESIDE_MS;
    return (
      !doubted.wasAllowed &&
      startedMs - doubted.startedMs >= REFUSED_LONG_MS &&
      this.latestApplied.startedMs >= besideMs &&
      this.otherForbiddenMs < besideMs
    );
  }
}

/** Longer than a call takes: `startedMsOf` is asked about times before a call began. */
const REMEMBERED_MS = 60_000;

/** Start times of calls that went well, by machine, for one to two minutes. Two generations: every call updates it. */
class LatestApplied {
  private newer = new Map<string, number>();
  private older = new Map<string, number>();
  private begunMs = -Infinity;

  noteApplied(commands: readonly { machineId: string }[], startedMs: number): void {
    if (startedMs >= this.begunMs + REMEMBERED_MS) {
      this.older = this.newer;
      this.newer = new Map();
      this.begunMs = startedMs;
    }
    for (const { machineId } of commands) this.newer.set(machineId, startedMs);
  }

  startedMsOf(machineId: string): number {
    return this.newer.get(machineId) ?? this.older.get(machineId) ?? -Infinity;
  }
}
