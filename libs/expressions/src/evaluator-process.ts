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
  | { kind: 'out-of-memory' }
  | { kind: 'died'; how: string }
  /** The evaluation has not begun. */
  | { kind: 'not-started'; how: string };

type Message = { ready: true } | { json?: string | undefined } | { failure: Failure };
type ProcessEvent =
  | { kind: 'message'; message: Message }
  | { kind: 'nothing' }
  | { kind: 'exit'; signal: NodeJS.Signals | null; how: string };

const PROGRAM = fileURLToPath(new URL('./evaluator.js', import.meta.url));
/** Long enough for a host that is busy starting other programs. */
const START_DEADLINE_MS = 60_000;
/** Lets the guards within the process, which report the character, act first. */
const GRACE_MS = 1_000;

/** A child process that evaluates expressions, one at a time. It keeps the parent alive only during an evaluation. */
export class EvaluatorProcess {
  private readonly child: ChildProcess;
  private isReady = false;
  private exit: ProcessEvent | undefined;
  private notify: (happening: ProcessEvent) => void = () => undefined;

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
    this.child.on('message', (message) => {
      this.notify({ kind: 'message', message: message as Message });
    });
    this.child.on('exit', (code, signal) => {
      this.recordExit(signal, signal ?? `exit code ${code ?? 'unknown'}`);
    });
    this.child.on('error', ({ message }) => this.recordExit(null, message));
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
    const first = await this.nextEvent(START_DEADLINE_MS);
    this.isReady = first.kind === 'message';
    if (this.isReady) return undefined;
    return { kind: 'not-started', how: first.kind === 'exit' ? first.how : 'no answer' };
  }

  private async sendRequest(request: EvaluationRequest): Promise<Ending> {
    const next = this.nextEvent(this.limits.deadlineMs + GRACE_MS);
    this.child.send(request, (error) => {
      if (error !== null) this.recordExit(null, error.message);
    });
    const happening = await next;
    switch (happening.kind) {
      case 'message':
        return { kind: 'answer', ...happening.message };
      case 'nothing':
        return { kind: 'out-of-time' };
      case 'exit':
        // V8 aborts a process that exceeds its heap
        if (happening.signal === 'SIGABRT') return { kind: 'out-of-memory' };
        return { kind: 'died', how: happening.how };
    }
  }

  private nextEvent(withinMs: number): Promise<ProcessEvent> {
    if (this.exit !== undefined) return Promise.resolve(this.exit);
    return new Promise((resolve) => {
      // bound to this evaluation: when its timer is handled, the next one may be waiting already
      const heard = (happening: ProcessEvent): void => {
        cancel();
        resolve(happening);
      };
      const cancel = afterRealMs(withinMs, () => {
        // if this process was busy, an answer that arrived in time is read first
        setImmediate(heard, { kind: 'nothing' });
      });
      this.notify = heard;
    });
  }

  private recordExit(signal: NodeJS.Signals | null, how: string): void {
    this.exit ??= { kind: 'exit', signal, how };
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
