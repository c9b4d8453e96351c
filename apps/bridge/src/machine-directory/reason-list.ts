import { abortable, type Clock } from '#libs/clock';
import { type ClassificationReason, type CloudAnswer } from '#libs/cloud-client';
import { Absence } from './absence.js';
import { type DirectoryAnswer } from './directory-status.js';
import { isFailure, lookUpFailure } from './look-up-failure.js';
import { RecentMisses } from './recent-misses.js';
import { SharedLookUp } from './shared-look-up.js';

const MAX_MISSES_PER_MACHINE = 100;

type ReasonsAnswer = CloudAnswer<ClassificationReason[]>;

export interface ReasonListOptions {
  read: () => Promise<ReasonsAnswer>;
  clock: Clock;
  /** An older list is read again, by the time of the plant. */
  maxAgeSeconds: number;
  /** Aborts when nothing is looked up any more. */
  stopping: AbortSignal;
}

/** The reasons that may be set for one machine, as last read. */
export class ReasonList {
  private readonly lookUp: SharedLookUp<ClassificationReason[]>;
  private readonly misses = new RecentMisses(MAX_MISSES_PER_MACHINE);
  private codes: ReadonlySet<string> = new Set();
  /** Epoch seconds; null before the first answer. */
  private loadedAt: number | null = null;
  /** Of all reasons, where there were some. */
  private readonly emptiness: Absence;

  constructor(private readonly options: ReasonListOptions) {
    const { read, stopping } = options;
    this.emptiness = new Absence(options.maxAgeSeconds);
    this.lookUp = new SharedLookUp(async () => this.note(await read()), stopping);
  }

  /** Whether it has been read, not long ago, with this reason on it. */
  has(reasonId: string): boolean {
    return this.isFresh && this.codes.has(reasonId);
  }

  async check(reasonId: string, signal: AbortSignal): Promise<DirectoryAnswer> {
    if (this.has(reasonId)) return 'known';
    const remembered = this.misses.answerTo(reasonId);
    // What was on the list when it could last be read is as good as known while it cannot be.
    if (remembered !== undefined) return this.codes.has(reasonId) ? 'known' : remembered;
    const answer = await this.refresh(signal);
    if (this.codes.has(reasonId)) return 'known';
    if (isFailure(answer)) return lookUpFailure(answer);
    if (this.codes.size > 0 && isEmpty(answer)) return 'unverifiable';
    this.misses.missed(reasonId);
    return 'unknown';
  }

  /** Reads it anew; who asks before the look-up starts shares it. */
  refresh(signal: AbortSignal): Promise<ReasonsAnswer> {
    return abortable(this.lookUp.ask(), signal);
  }

  /** The service has asked to be left alone with it, for some time yet. */
  get isHeld(): boolean {
    return this.lookUp.isHeld;
  }

  private get isFresh(): boolean {
    if (this.loadedAt === null) return false;
    const { clock, maxAgeSeconds } = this.options;
    return clock.nowSeconds() - this.loadedAt <= maxAgeSeconds;
  }

  private note(answer: ReasonsAnswer): ReasonsAnswer {
    if (isFailure(answer)) {
      this.misses.failed(lookUpFailure(answer));
      return answer;
    }
    if (!isEmpty(answer)) this.emptiness.end();
    if (this.codes.size > 0 && isEmpty(answer) && this.isEmptyOnce()) {
      this.misses.failed('unverifiable');
    } else {
      const reasons = answer.kind === 'data' ? answer.data : [];
      this.codes = new Set(reasons.map(({ code }) => code));
      this.loadedAt = this.options.clock.nowSeconds();
      this.misses.found(this.codes);
    }
    return answer;
  }

  /** A gateway may answer so once: what was known stands, and the service decides, until another list is empty as well. */
  private isEmptyOnce(): boolean {
    return !this.emptiness.isLasting(this.options.clock.monotonicMs());
  }
}

function isEmpty(answer: ReasonsAnswer): boolean {
  return answer.kind === 'noData' || (answer.kind === 'data' && answer.data.length === 0);
}
