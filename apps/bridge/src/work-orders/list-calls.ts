import { realNowMs } from '#libs/clock';
import {
  type Conduct,
  judgeAnswer,
  type ListQueue,
  type QueuedList,
  type ServiceAnswer,
  type Verdict,
} from '#libs/delivery';
import { CallPace } from './call-pace.js';
import { type ListAssignment, type ListCallsOptions } from './list-calls-options.js';
import { combine, isOlder, type PendingList, settle, supersede } from './pending-list.js';

type Entry = QueuedList<PendingList>;

interface Call {
  entry: Entry;
  assignment: ListAssignment;
}

/** Makes the requests of {@link ListDispatcher} and draws the consequences for queue and waiters. */
export class ListCalls {
  private readonly pace = new CallPace();

  constructor(
    private readonly queue: ListQueue<PendingList>,
    private readonly options: ListCallsOptions,
    private readonly whenDone: () => void,
  ) {}

  /** Sends the lists in one request, and their halves when it is refused. */
  async send(batch: readonly Entry[]): Promise<void> {
    const calls = batch.flatMap((entry) => this.prepare(entry));
    if (calls.length > 0) await this.call(calls);
    this.whenDone();
  }

  private async call(calls: readonly Call[]): Promise<void> {
    const startedMs = realNowMs();
    const answer = await this.options
      .call(calls.map(({ assignment }) => assignment))
      // The client answers with values; whatever it throws all the same must not strand the machines.
      .catch((error: unknown): ServiceAnswer => ({
        kind: 'retry',
        afterMs: null,
        error: new Error(String(error), { cause: error }),
      }));
    const attempt = Math.max(...calls.map(({ entry }) => entry.attempts));
    const verdict = this.review(calls, judgeAnswer(answer, attempt));
    this.options.status.note(verdict);
    await this.conclude(calls, verdict, realNowMs() - startedMs);
  }

  /** Drops what nobody waits for any more and what an applied list has overtaken. */
  private prepare(entry: Entry): Call[] {
    const { machineId, payload } = entry;
    payload.waiters = payload.waiters.filter(({ hasGivenUp }) => !hasGivenUp);
    if (isOlder(payload, this.options.issuedAtApplied(machineId))) {
      supersede(payload, machineId);
      payload.waiters = [];
    }
    if (payload.waiters.length === 0) {
      this.queue.settle(entry, 'fine');
      return [];
    }
    entry.attempts += 1;
    for (const waiter of payload.waiters) waiter.callBegins();
    return [{ entry, assignment: { machineId, workingOrders: payload.workingOrders() } }];
  }

  /** Of several machines together nothing can be said: they part, and each is judged by itself. */
  private review(calls: readonly Call[], verdict: Verdict): Verdict {
    const [only] = calls;
    if (only === undefined || calls.length > 1) return verdict;
    return only.entry.payload.forbidden.review(verdict, this.options.status);
  }

  private async conclude(
    calls: readonly Call[],
    verdict: Verdict,
    durationMs: number,
  ): Promise<void> {
    switch (verdict.kind) {
      case 'applied':
        this.applied(calls, this.pace.judge(durationMs) === 'slow' ? 'suspect' : 'fine');
        return;
      case 'rejected':
        if (calls.length === 1) this.rejected(calls, verdict);
        else await this.split(calls);
        return;
      case 'try-again':
        this.postpone(calls, verdict);
        return;
      default:
        verdict satisfies never;
    }
  }

  private applied(calls: readonly Call[], conduct: Conduct): void {
    const appliedAt = this.options.clock.nowSeconds();
    for (const { entry, assignment } of calls) {
      const { machineId, payload } = entry;
      this.queue.settle(entry, conduct);
      this.options.onApplied(assignment, payload.issuedAt);
      settle(payload, (attempts) => ({ kind: 'applied', machineId, attempts, appliedAt }));
    }
  }

  private rejected(
    calls: readonly Call[],
    { status: httpStatus, detail }: Extract<Verdict, { kind: 'rejected' }>,
  ): void {
    const rejection = { code: 'rejected-by-service' as const, detail };
    for (const { entry } of calls) {
      const { machineId, payload } = entry;
      this.queue.settle(entry, 'at-fault');
      settle(payload, (attempts) => ({
        kind: 'rejected',
        machineId,
        attempts,
        rejection,
        httpStatus,
      }));
    }
  }

  /** The second half leaves at once in a place of its own; the machines of both stay in flight meanwhile. */
  private async split(calls: readonly Call[]): Promise<void> {
    const entries = calls.map(({ entry }) => entry);
    // A stop that began meanwhile frees those who wait; the halves are then sent for nobody.
    for (const { payload } of entries) for (const waiter of payload.waiters) waiter.callWasInVain();
    const middle = Math.ceil(entries.length / 2);
    void this.options.limit.run(() => this.send(entries.slice(middle)));
    await this.send(entries.slice(0, middle));
  }

  private postpone(
    calls: readonly Call[],
    { waitMs, cause }: Extract<Verdict, { kind: 'try-again' }>,
  ): void {
    // Whether it is the service or one machine cannot be told, so each failure halves the company: when
    // it was the service, the first call that goes well puts the machine back among the others.
    const conduct: Conduct = cause === 'token-refused' ? 'fine' : 'suspect';
    const notBeforeMs = realNowMs() + waitMs;
    for (const { entry } of calls) {
      const { machineId, payload } = entry;
      for (const waiter of payload.waiters) waiter.callWasInVain();
      const outdated = this.queue.retry(entry, notBeforeMs, conduct);
      const newer = outdated && this.queue.waitingOf(machineId);
      if (newer === undefined) continue;
      const { keep, superseded } = combine(payload, newer.payload);
      if (superseded !== undefined) supersede(superseded, machineId);
      this.queue.offer({ ...newer, payload: keep, attempts: entry.attempts });
    }
  }
}
