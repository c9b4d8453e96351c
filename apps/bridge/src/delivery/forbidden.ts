import { type Verdict } from '#libs/delivery';
import { type FlowCalls, type StartedCall } from './flow-status.js';

const REJECTED: Verdict = {
  kind: 'rejected',
  status: 403,
  detail: 'the token may not do this for the machine, while it may for others',
};

/** How long a machine has been refused before what went well beside its first call tells against it. */
const SETTLED_MS = 2000;
/** What began so shortly before that call counts as beside it. */
const BESIDE_MS = 1000;

/**
 * Tells a machine that the token may not touch from a token that may do nothing. A call for another
 * machine that begins after a 403 and goes well shows that this 403 was not the token's fault; one that
 * had begun before shows nothing, since the token may have lost its right in between. When the machine is
 * answered 403 once more after that, it is the machine. A 403 in company counts as its first when all others
 * of that company have gone well since. And where it alone is refused, for a while, what went well beside its first
 * call counts: in a quiet plant nothing else may come. One for each command.
 */
export class Forbidden {
  /** The latest call to have begun when the first 403 came. */
  private sinceCall: number | undefined;
  /** When the first call that was answered 403 began. */
  private firstMs: number | undefined;
  /** It could be called right before that: the token has lost its right since. */
  private wasAllowed = false;
  private inCompany: RefusalInCompany | undefined;

  constructor(private readonly machineId: string) {}

  /** A call for this machine and others was answered 403. */
  refusedInCompany(refusal: RefusalInCompany): void {
    this.inCompany = refusal;
  }

  /** The machine's call has gone well. */
  wentWell(): void {
    this.inCompany?.clear(this.machineId);
  }

  /**
   * The verdict on a command for one machine alone that was answered 403.
   *
   * @param flow what is known of the flow's calls by now
   */
  review(verdict: Verdict, call: StartedCall, flow: FlowCalls): Verdict {
    this.sinceCall ??= flow.latestBegun;
    if (this.firstMs === undefined) {
      this.firstMs = call.startedMs;
      const allowedMs = flow.latestAppliedMsOf(this.machineId);
      this.wasAllowed = allowedMs >= this.firstMs - BESIDE_MS;
    }
    const isProven = call.latestApplied > this.earliest(this.sinceCall);
    return isProven || this.isAloneWith403(call, this.firstMs, flow) ? REJECTED : verdict;
  }

  private isAloneWith403({ startedMs }: StartedCall, firstMs: number, flow: FlowCalls): boolean {
    return (
      !this.wasAllowed &&
      startedMs - firstMs >= SETTLED_MS &&
      flow.latestAppliedMs >= firstMs - BESIDE_MS &&
      !flow.wasAnotherForbidden(this.machineId, firstMs - BESIDE_MS)
    );
  }

  private earliest(sinceCall: number): number {
    const { inCompany } = this;
    if (inCompany?.leaves(this.machineId) !== true) return sinceCall;
    return Math.min(sinceCall, inCompany.sinceCall);
  }
}

/** The verdict on commands whose call was answered 403, which each of them remembers. */
export function reviewForbidden(
  commands: readonly { readonly machineId: string; forbidden: Forbidden | undefined }[],
  verdict: Verdict,
  call: StartedCall,
  flow: FlowCalls,
): Verdict {
  const each = commands.map((command) => (command.forbidden ??= new Forbidden(command.machineId)));
  const [only] = each;
  if (only !== undefined && each.length === 1) return only.review(verdict, call, flow);
  // Of several machines together nothing can be said yet: they part, and each is judged by itself.
  const machineIds = commands.map(({ machineId }) => machineId);
  const refusal = new RefusalInCompany(machineIds, flow.latestBegun);
  for (const forbidden of each) forbidden.refusedInCompany(refusal);
  return verdict;
}

/**
 * A 403 that a call for several machines was answered. It is the fault of one of them, or of the token;
 * each that goes well afterwards was not it, and shows that the token was not either.
 */
export class RefusalInCompany {
  private readonly suspects: Set<string>;

  /** @param sinceCall the latest call to have begun when the 403 came */
  constructor(
    machineIds: Iterable<string>,
    readonly sinceCall: number,
  ) {
    this.suspects = new Set(machineIds);
  }

  /** A call for the machine that began after the 403 has gone well. */
  clear(machineId: string): void {
    this.suspects.delete(machineId);
  }

  /** Whether nobody but the machine can have been at fault. */
  leaves(machineId: string): boolean {
    return this.suspects.size === 1 && this.suspects.has(machineId);
  }
}
