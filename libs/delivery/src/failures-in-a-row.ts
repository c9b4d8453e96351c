import { type RetryCause } from './judge-answer.js';

/** Failures in a row, of several machines, after which it is the service rather than a machine. */
const FAILURES_TO_OPEN = 5;
/** Where more machines have something to send, as many may fail for reasons of their own; but no more are tried than these. */
const MACHINES_TRIED = 64;
/** With one machine's failures and nothing else for this long, the flow stands still just as well. */
const STANDSTILL_MS = 5000;

/** A call that has to be made again. */
export interface Failure {
  /** One of the machines the call was for. */
  machineId: string;
  /** Machines with something to send. */
  busyMachines: number;
  /** Whether others were in the same call. */
  inCompany: boolean;
  cause: RetryCause;
  why: string;
  /** The call was the one that {@link Breaker.callBegins} called a probe; one from before the pause tells nothing new. */
  isProbe: boolean;
  /** What the service asked to wait, in milliseconds; 0 when it asked for nothing. */
  retryAfterMs: number;
}

/**
 * The calls of a flow that have failed since the last one that went well, and what they say together: that nothing
 * gets through any more, or only that some machines have trouble of their own. Pure: times are handed in.
 */
export class FailuresInARow {
  private count = 0;
  private firstMs = 0;
  private readonly failing = new MachinesConcerned();
  private readonly askedToWait = new MachinesConcerned();

  get areAny(): boolean {
    return this.count > 0;
  }

  /** Real milliseconds at which the first of them was told. */
  get sinceMs(): number {
    return this.firstMs;
  }

  add({ machineId, inCompany, retryAfterMs }: Failure, nowMs: number): void {
    if (this.count === 0) this.firstMs = nowMs;
    this.count += 1;
    this.failing.note(machineId, inCompany);
    if (retryAfterMs > 0) this.askedToWait.note(machineId, inCompany);
  }

  forget(): void {
    this.count = 0;
    this.failing.forget();
    this.askedToWait.forget();
  }

  /**
   * How long the service asks everybody to wait, by its latest answer. What one machine alone is asked keeps nobody
   * else from being tried, whoever else fails meanwhile: its lane waits for it anyway.
   */
  askedOfAll({ retryAfterMs }: Failure): number {
    return this.askedToWait.areSeveral ? retryAfterMs : 0;
  }

  /** Whether the latest of them shows that the flow stands still. */
  areStandstill({ cause, busyMachines }: Failure, nowMs: number): boolean {
    if (cause === 'token-refused') return true;
    const enough = Math.max(FAILURES_TO_OPEN, Math.min(busyMachines, MACHINES_TRIED));
    if (this.failing.areSeveral && this.count >= enough) return true;
    return this.count > 1 && this.lastLong(nowMs);
  }

  /** Whether the time that has passed shows it, with no call under way. */
  haveBecomeStandstill(nowMs: number): boolean {
    const isSingle = this.count === 1 && !this.failing.areSeveral;
    return this.areAny && !isSingle && this.lastLong(nowMs);
  }

  private lastLong(nowMs: number): boolean {
    return nowMs - this.firstMs >= STANDSTILL_MS;
  }
}

/** Whether something has to do with several machines, or with one alone for all that is known. */
export class MachinesConcerned {
  private first: string | undefined;
  private several = false;

  get areSeveral(): boolean {
    return this.several;
  }

  /** @param inCompany whether it has to do with others as well */
  note(machineId: string, inCompany: boolean): void {
    this.first ??= machineId;
    this.several ||= inCompany || machineId !== this.first;
  }

  forget(): void {
    this.first = undefined;
    this.several = false;
  }
}
