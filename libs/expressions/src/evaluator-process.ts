import { type ChildProcess, fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { afterRealMs } from '#libs/clock';
import type { EvaluationRequest } from '#libs/erp-formats';
import type { Failure } from './failure.js';
import type { Limits } from './limits.js';

/** How an evaluation ends. After any ending but `answer` the process is killed. */
export type Ending =
  | { kind: 'answer'; json?: string | undefined; failure?: Failure }
  | { kind: 'out-of-time' }
  | Exit
  /** The evaluation has not begun. */
  | { kind: 'not-started'; how: string };

interface Exit {
  kind: 'out-of-memory' | 'died';
  how: string;
}

const PROGRAM = fileURLToPath(new URL('./evaluator.js', import.meta.url));
/** Long enough for a host that is busy starting other programs. */
const START_DEADLINE_MS = 60_000;
/** Lets the guards within the process, which report the character, act first. */
const GRACE_MS = 1_000;

/** A child process that evaluates expressions, one at a time. It keeps the parent alive only during an evaluation. */
export class EvaluatorProcess {
  private readonly child: ChildProcess;
  private isReady = false;
  private exit: Exit | undefined;
  private notify: (ending: Ending) => void = () => undefined;

  constructor(
    private readonly limits: Limits,
    program = PROGRAM,
  ) {
    this.child = fork(program, [JSON.stringify(limits)], {
      // the child gets no settings; in UTC, a time without a zone does not depend on the host
      env: { TZ: 'UTC' },
      execArgv: [`--max-old-space-size=${limits.heapMiB}`],
      serialization: 'advanced',
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    });
    // the first message only says that the process is ready
    this.child.on('message', (message) => this.notify({ kind: 'answer', ...(message as object) }));
    this.child.on('exit', (code, signal) => {
      // V8 aborts a process that exceeds its heap
      const kind = signal === 'SIGABRT' ? 'out-of-memory' : 'died';
      this.recordExit(kind, signal ?? `exit code ${code ?? 'unknown'}`);
    });
    this.child.on('error', ({ message }) => this.recordExit('died', message));
  }

  get isAlive(): boolean {
    return this.exit === undefined;
  }

  kill(): void {
    this.child.kill('SIGKILL');
    this.keepParentAlive(false);
  }

  /** Never rejects. The deadline counts from when the process is ready. */
  async evaluate(request: EvaluationRequest): Promise<Ending> {
    this.keepParentAlive(true);
    const ending = (await this.failureToStart()) ?? (await this.sendRequest(request));
    this.keepParentAlive(false);
    if (ending.kind !== 'answer') this.kill();
    return ending;
  }

  private async failureToStart(): Promise<Ending | undefined> {
    if (this.isReady) return undefined;
    const first = await this.nextEnding(START_DEADLINE_MS);
    this.isReady = first.kind === 'answer';
    if (this.isReady) return undefined;
    return { kind: 'not-started', how: 'how' in first ? first.how : 'no answer' };
  }

  private sendRequest(request: EvaluationRequest): Promise<Ending> {
    const next = this.nextEnding(this.limits.deadlineMs + GRACE_MS);
    this.child.send(request, (error) => {
      if (error !== null) this.recordExit('died', error.message);
    });
    return next;
  }

  private nextEnding(withinMs: number): Promise<Ending> {
    if (this.exit !== undefined) return Promise.resolve(this.exit);
    return new Promise((resolve) => {
      // bound to this evaluation: when its timer is handled, the next one may be waiting already
      const heard = (ending: Ending): void => {
        cancel();
        resolve(ending);
      };
      const cancel = afterRealMs(withinMs, () => {
        // if this process was busy, an answer that arrived in time is read first
        setImmediate(heard, { kind: 'out-of-time' });
      });
      this.notify = heard;
    });
  }

  private recordExit(kind: Exit['kind'], how: string): void {
    this.exit ??= { kind, how };
    this.notify(this.exit);
  }

  private keepParentAlive(isBusy: boolean): void {
    if (isBusy) {
      this.child.ref();
      this.child.channel?.ref();
    } else {
      this.child.unref();
      this.child.channel?.unref();
    }
  }
}
