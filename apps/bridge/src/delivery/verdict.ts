import { describeUnauthorised, type Unauthorised } from '#libs/cloud-client';
import { backOffMs, type BackOffOptions } from '#libs/delivery';

/** An answer of the service to a command, by what it means for the caller, see docs/operations.md. */
export type ServiceAnswer =
  | { kind: 'data' | 'noData' }
  | { kind: 'rejected'; status: number; detail: string }
  | { kind: 'retry'; afterMs: number | null; error: Error }
  | Unauthorised;

/** What follows from an answer. */
export type Verdict =
  | { kind: 'applied' }
  | { kind: 'rejected'; status: number; detail: string }
  | { kind: 'try-again'; waitMs: number; retryAfterMs: number; why: string; cause: RetryCause };

/**
 * `forbidden` may be the token's fault or that of one machine: the calls of others meanwhile show it. So they do for
 * `unlisted-status`, a refusal that the interface does not list, which may be the message's fault or that of the way.
 */
export type RetryCause = 'service' | 'token-refused' | 'forbidden' | 'unlisted-status';

export const RETRY_BACK_OFF: BackOffOptions = { baseMs: 200, capMs: 10_000 };

/** `attempt` counts from 1; `Retry-After` is the floor of the wait, never shortened by jitter. */
export function classifyAnswer(
  answer: ServiceAnswer,
  attempt: number,
  random: () => number = Math.random,
): Verdict {
  switch (answer.kind) {
    case 'data':
    case 'noData':
      return { kind: 'applied' };
    case 'rejected':
      return answer;
    case 'retry':
      return {
        kind: 'try-again',
        waitMs: Math.max(backOffMs(attempt, RETRY_BACK_OFF, random), answer.afterMs ?? 0),
        retryAfterMs: answer.afterMs ?? 0,
        why: answer.error.message,
        cause: 'service',
      };
    case 'unauthorised':
      return {
        kind: 'try-again',
        waitMs: backOffMs(attempt, RETRY_BACK_OFF, random),
        retryAfterMs: 0,
        why: describeUnauthorised(answer),
        cause: answer.status === 403 ? 'forbidden' : 'token-refused',
      };
    default:
      return answer satisfies never;
  }
}

/** What is known of a flow's calls at the moment. */
export interface FlowCalls {
  /** The number of the latest call to have begun. */
  readonly latestBegun: number;
  /** When the latest call that has gone well began, in real milliseconds; -Infinity while none has. */
  readonly latestAppliedMs: number;
  /** The same of the latest that was for this machine, alone or with others; of the last minute. */
  latestAppliedMsOf(machineId: string): number;
  /** Whether a call for another machine, by itself, was answered 403 since then. */
  wasAnotherForbidden(machineId: string, sinceMs: number): boolean;
}

/** A call that has begun, and what was known by then. Numbers count the flow's calls in the order of their begin. */
export interface StartedCall {
  readonly number: number;
  /** The highest number of a call that had gone well by then; 0 when none had. */
  readonly latestApplied: number;
  /** Real milliseconds. */
  readonly startedMs: number;
}

const REJECTED: Verdict = {
  kind: 'rejected',
  status: 403,
  detail: 'the token may not do this for the machine, while it may for others',
};

/** How long a machine has been refused before a success beside its first call counts against it. */
const SETTLED_MS = 2000;
/** What began so shortly before that call counts as beside it. */
const BESIDE_MS = 1000;

/**
 * Decides whether a 403 is about one machine or about the token as a whole. A call for another
 * machine that begins after a 403 and goes well shows that this 403 was not the token's fault; one that
 * had begun before shows nothing, since the token may have lost its right in between. When the machine is
 * answered 403 once more after that, it is the machine. A 403 of a shared call counts as its first when all others
 * of that call have gone well since. And where it alone is refused, for a while, what went well beside its first
 * call counts: in a quiet plant nothing else may come. One for each command.
 */
export class ForbiddenAttribution {
  /** The machine's first call by itself that was answered 403. */
  private first: FirstForbidden | undefined;
  /** The latest of those with others. */
  shared: SharedForbidden | undefined;

  constructor(private readonly machineId: string) {}

  /** The machine's call has gone well. */
  wentWell(): void {
    this.shared?.suspects.delete(this.machineId);
  }

  /**
   * The verdict on a command for one machine alone that was answered 403.
   *
   * @param flow what is known of the flow's calls by now
   */
  review(verdict: Verdict, call: StartedCall, flow: FlowCalls): Verdict {
    const { machineId, shared } = this;
    this.first ??= {
      sinceCall: flow.latestBegun,
      startedMs: call.startedMs,
      wasAllowed: flow.latestAppliedMsOf(machineId) >= call.startedMs - BESIDE_MS,
    };
    const { first } = this;
    const isOnlySuspect = shared?.suspects.size === 1 && shared.suspects.has(machineId);
    const sinceShared = isOnlySuspect ? shared.sinceCall : Infinity;
    const isProven = call.latestApplied > Math.min(first.sinceCall, sinceShared);
    return isProven || this.isAloneWith403(call, first, flow) ? REJECTED : verdict;
  }

  private isAloneWith403(call: StartedCall, first: FirstForbidden, flow: FlowCalls): boolean {
    const besideMs = first.startedMs - BESIDE_MS;
    return (
      !first.wasAllowed &&
      call.startedMs - first.startedMs >= SETTLED_MS &&
      flow.latestAppliedMs >= besideMs &&
      !flow.wasAnotherForbidden(this.machineId, besideMs)
    );
  }
}

interface FirstForbidden {
  /** The latest call to have begun when the 403 came. */
  sinceCall: number;
  startedMs: number;
  /** The machine could be called right before: the token has lost its right since. */
  wasAllowed: boolean;
}

/**
 * A 403 that a call for several machines was answered. It is the fault of one of them, or of the token;
 * each that goes well afterwards was not it, and shows that the token was not either.
 */
interface SharedForbidden {
  /** The latest call to have begun when the 403 came. */
  readonly sinceCall: number;
  /** Those that have not gone well since. */
  readonly suspects: Set<string>;
}

/** The verdict on commands whose call was answered 403, which each of them remembers. */
export function reviewForbidden(
  commands: readonly { readonly machineId: string; forbidden: ForbiddenAttribution | undefined }[],
  verdict: Verdict,
  call: StartedCall,
  flow: FlowCalls,
): Verdict {
  const each = commands.map(
    (command) => (command.forbidden ??= new ForbiddenAttribution(command.machineId)),
  );
  const [only] = each;
  if (only !== undefined && each.length === 1) return only.review(verdict, call, flow);
  // Of several machines together nothing can be said yet: they part, and each is judged by itself.
  const suspects = new Set(commands.map(({ machineId }) => machineId));
  const shared = { sinceCall: flow.latestBegun, suspects };
  for (const forbidden of each) forbidden.shared = shared;
  return verdict;
}

type Rejected = Extract<Verdict, { kind: 'rejected' }>;

/** A command's refusal with a status that the interface does not list for the operation. */
export interface UnlistedRefusal {
  status: number;
  /** The latest call to have begun when the status was first answered to the command. */
  sinceCall: number;
}

/** The command is at fault, or that is open, or an empty call of the operation is to show it. */
type Review = 'at-fault' | 'open' | 'ask';

/** Of both writing operations. */
const LISTED = [403, 422];
/**
 * So many commands may be given up because of empty calls before one is applied again. A service that refuses every
 * command and still answers an empty one as it should has more wrong with it than these messages.
 */
const MOST_BY_EMPTY_CALLS = 3;

export function isUnlisted(verdict: Verdict): verdict is Rejected {
  return verdict.kind === 'rejected' && !LISTED.includes(verdict.status);
}

/**
 * Decides whether a status that the interface does not list is about a message or about the way to the service. A wrong
 * path, a gateway or a maintenance page answers one and the same status to every call, and none of it is a message's
 * fault. So such a status counts against a command only when it is answered to it again after a call of the operation
 * that had begun since was taken, or refused in a way that the interface lists. Where no other command comes, an empty
 * call does. One of a flow.
 */
export class UnlistedRefusals {
  /** Numbers of the latest calls, and empty calls, to have been answered as the interface lists. */
  private latestAnswered = 0;
  private latestEmptyAnswered = 0;
  private givenUpByEmptyCalls = 0;

  /** The service has taken a call, or refused it in a way that the interface lists. */
  answered({ number }: StartedCall, isApplied: boolean): void {
    this.latestAnswered = Math.max(this.latestAnswered, number);
    if (isApplied) this.givenUpByEmptyCalls = 0;
  }

  /** The same of an empty call. */
  emptyAnswered({ number }: StartedCall): void {
    this.latestEmptyAnswered = Math.max(this.latestEmptyAnswered, number);
  }

  /** Looks into a command that was in a call by itself. */
  review(
    command: { unlisted: UnlistedRefusal | undefined },
    { status }: Rejected,
    { latestBegun }: Pick<FlowCalls, 'latestBegun'>,
  ): Review {
    const { unlisted } = command;
    if (unlisted?.status !== status) {
      command.unlisted = { status, sinceCall: latestBegun };
      return 'open';
    }
    if (this.latestAnswered > unlisted.sinceCall) return 'at-fault';
    if (this.givenUpByEmptyCalls >= MOST_BY_EMPTY_CALLS) return 'open';
    if (this.latestEmptyAnswered <= unlisted.sinceCall) return 'ask';
    this.givenUpByEmptyCalls += 1;
    return 'at-fault';
  }
}
