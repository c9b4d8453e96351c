import { realNowMs } from '#libs/clock';
import { describeUnauthorised, type Unauthorised } from '#libs/cloud-client';
import { backOffMs, type BackOffOptions } from '#libs/delivery';

/** An answer of the service to a command, by what it means for the caller, see docs/operations.md. */
export type ServiceAnswer =
  | { kind: 'data' | 'noData' }
  | { kind: 'rejected'; status: number; detail: string }
  | { kind: 'retry'; afterMs: number | null; error: Error }
  | Unauthorised;

export type Verdict =
  | { kind: 'applied' }
  | { kind: 'rejected'; status: number; detail: string }
  | { kind: 'retry'; waitMs: number; retryAfterMs: number; why: string; cause: RetryCause };

export type Rejected = Extract<Verdict, { kind: 'rejected' }>;

/**
 * `forbidden` may be the token's fault or that of one machine: the calls of others meanwhile show it. So they do for
 * `unlisted-status`, a refusal that the interface does not list, which may be the message's fault or that of the way.
 */
export type RetryCause = 'service' | 'token-refused' | 'forbidden' | 'unlisted-status';

export const RETRY_BACK_OFF: BackOffOptions = { baseMs: 200, capMs: 10_000 };
export const FORBIDDEN = 403;
/** Listed for both writing operations as the fault of the message, whatever answers others get. */
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
      return retry('service', answer.error.message, attempt, answer.afterMs ?? 0);
    case 'unauthorised':
      if (answer.status === FORBIDDEN) return NOT_FOR_MACHINE;
      return retry('token-refused', describeUnauthorised(answer), attempt);
    default:
      return answer satisfies never;
  }
}

/** `Retry-After` is the floor of the wait, never shortened by jitter. */
function retry(cause: RetryCause, why: string, attempt: number, retryAfterMs = 0): Verdict {
  const waitMs = Math.max(backOffMs(attempt, RETRY_BACK_OFF), retryAfterMs);
  return { kind: 'retry', waitMs, retryAfterMs, why, cause };
}

/** Whether a refusal may be the fault of the token (403), or of the way to the service, rather than of its message. */
export function isDoubtful(verdict: Verdict): verdict is Rejected {
  return verdict.kind === 'rejected' && verdict.status !== UNPROCESSABLE;
}

/** The verdict on a doubtful refusal while it is undecided whose fault it is. */
export function whileUndecided({ status, detail }: Rejected, attempt: number): Verdict {
  if (status === FORBIDDEN) {
    return retry('forbidden', describeUnauthorised({ kind: 'unauthorised', status }), attempt);
  }
  const why =
    `${detail}; the interface lists no such answer: ` +
    'see MACHINE_CLOUD_BASE_URL and what stands between the bridge and the service';
  return retry('unlisted-status', why, attempt);
}

/** A call that has begun, and what was known by then. Numbers count the flow's calls in the order of their begin. */
export interface StartedCall {
  readonly number: number;
  /** The highest number of a call that the service had taken by then; 0 when it had none. */
  readonly latestApplied: number;
  /** The highest number of a call that it had taken, or refused as the interface lists it. */
  readonly latestAnswered: number;
  /** Real milliseconds. */
  readonly startedMs: number;
}

/** A doubtful refusal of a command, in a call by itself. */
export interface DoubtedRefusal {
  readonly status: number;
  /** The latest call to have begun when the status was first answered to the command. */
  readonly sinceCall: number;
  /** When the call began that was answered so first, in real milliseconds. */
  readonly startedMs: number;
  /** The machine could be called right before: the token has lost its right since. */
  readonly wasAllowed: boolean;
}

/** The command is at fault, or that is undecided, or an empty call of the operation is to show it. */
type Review = 'at-fault' | 'undecided' | 'call-empty';

/** How long a machine has been refused before a success beside its first call counts against it. */
const REFUSED_LONG_MS = 2000;
/** A call that began so shortly before that one counts as beside it. */
const BESIDE_MS = 1000;
/** Commands given up because of empty calls before one is applied: beyond it, more is wrong than these messages. */
const MOST_BY_EMPTY_CALLS = 3;

/**
 * Decides whose fault a doubtful refusal is. A token without a right, a wrong path, a gateway or a maintenance page
 * answers one and the same status to every call, and none of it is a message's fault. So a status counts against a
 * command only when it is answered to it again after a call that had begun since has gone well: after a 403, one that
 * was taken; otherwise also one that was refused as the interface lists it. What had begun before shows nothing, since
 * the token may have lost its right in between.
 *
 * In a quiet plant no other call may come. Then what went well beside the first call tells against a machine that alone
 * is answered 403 for a while, and an empty call against any other command. One of a flow.
 */
export class Refusals {
  private latestBegun = 0;
  private latestApplied = { number: 0, startedMs: -Infinity };
  private latestAnswered = 0;
  private latestEmptyAnswered = 0;
  private givenUpByEmptyCalls = 0;
  private readonly applied = new LatestApplied();
  /** The machine that was answered 403 last, and when; and when another before it was. */
  private latestForbidden = { machineId: '', atMs: -Infinity };
  private otherForbiddenMs = -Infinity;

  callBegins(): StartedCall {
    this.latestBegun += 1;
    const { latestBegun: number, latestAnswered } = this;
    const latestApplied = this.latestApplied.number;
    return { number, latestApplied, latestAnswered, startedMs: realNowMs() };
  }

  /** The service has taken a call, for these machines, or refused it as the interface lists it. */
  answered(call: StartedCall, appliedTo: readonly { machineId: string }[] = []): void {
    this.latestAnswered = Math.max(this.latestAnswered, call.number);
    if (appliedTo.length === 0) return;
    this.applied.note(appliedTo, call.startedMs);
    this.givenUpByEmptyCalls = 0;
    if (call.number > this.latestApplied.number) this.latestApplied = call;
  }

  emptyAnswered({ number }: StartedCall): void {
    this.latestEmptyAnswered = Math.max(this.latestEmptyAnswered, number);
  }

  /** Judges a doubtful refusal of a command in a call by itself; of the first with that status, it keeps when it was. */
  review(
    command: { readonly machineId: string; doubted: DoubtedRefusal | undefined },
    status: number,
    call: StartedCall,
  ): Review {
    const { machineId, doubted } = command;
    if (status === FORBIDDEN) this.noteForbidden(machineId);
    if (doubted?.status === status) return this.reviewAgain(doubted, call);
    const { startedMs } = call;
    const wasAllowed = this.applied.startedMsOf(machineId) >= startedMs - BESIDE_MS;
    command.doubted = { status, sinceCall: this.latestBegun, startedMs, wasAllowed };
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

  /** Whether no machine but the latest has been answered 403 for a while, and others have got through beside its first. */
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

/** Longer than a call can take, and what is asked about lies before it. */
const REMEMBERED_MS = 60_000;

/** When calls that went well began, by machine, for a minute or two. Two generations, for every call passes here. */
class LatestApplied {
  private newer = new Map<string, number>();
  private older = new Map<string, number>();
  private begunMs = -Infinity;

  note(commands: readonly { machineId: string }[], startedMs: number): void {
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
