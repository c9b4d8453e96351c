import { realDelayMs } from '#libs/clock';
import { eventually } from './eventually.js';

/** A call in the sandbox's log; only the fields that tests need. */
export interface LoggedCall {
  /** In order of receipt, from 1, without gaps. */
  sequence: number;
  /** Epoch seconds of the sandbox's clock. */
  receivedAt: number;
  operation: string;
  machineIds: string[];
  status: number | null;
  body: unknown;
  traceparent: string | null;
  /** Real, monotonic milliseconds of the sandbox. */
  startedAtMs: number;
  endedAtMs: number | null;
  /** Null for a call that changed nothing. */
  carriedOutAtMs: number | null;
  faultId: string | null;
}

const CALLS_PER_PAGE = 2000;
const ANSWERS_WITHOUT_A_CALL = 20;

/** The sandbox's knowledge of one machine; only the fields that tests need. */
export interface SandboxMachine {
  workingOrders: string[];
  classifications: { reasonId: string; startTime: number; endTime: number | null }[];
}

/** The sandbox's control API: truth, call log and faults. */
export class SandboxControl {
  constructor(readonly url: string) {}

  machine(machineId: string): Promise<SandboxMachine> {
    return this.get(`/sandbox/machines/${encodeURIComponent(machineId)}`);
  }

  calls(operation: string): Promise<LoggedCall[]> {
    return this.get(`/sandbox/calls?operation=${operation}`);
  }

  /** Sequence number of the latest call. */
  async newestCall(): Promise<number> {
    return (await this.get<{ newest: number }>('/sandbox/calls/extent')).newest;
  }

  /**
   * The same, after all calls of ended processes have been read. A busy sandbox may answer before it has accepted the
   * connections of a process that was just killed, so it is asked until no call comes between many answers.
   */
  async newestCallOfEnded(): Promise<number> {
    let newest = await this.newestCall();
    for (let unchanged = 0; unchanged < ANSWERS_WITHOUT_A_CALL;) {
      await realDelayMs(10);
      const latest = await this.newestCall();
      unchanged = latest === newest ? unchanged + 1 : 0;
      newest = latest;
    }
    return newest;
  }

  /** How many calls of an operation came after a sequence number; stops counting at `most`. */
  async countCalls(operation: string, since: number, most: number): Promise<number> {
    const path = `/sandbox/calls?operation=${operation}&since=${since}&limit=${most}`;
    return (await this.get<LoggedCall[]>(path)).length;
  }

  /** Every call after a sequence number. @throws Error if the log no longer has all of them */
  async allCalls(since = 0): Promise<LoggedCall[]> {
    const calls: LoggedCall[] = [];
    for (let last = since; ; last = calls.at(-1)?.sequence ?? last) {
      const path = `/sandbox/calls?since=${last}&limit=${CALLS_PER_PAGE}`;
      const page = await this.get<LoggedCall[]>(path);
      const [first] = page;
      if (first === undefined) return calls;
      if (first.sequence !== last + 1) throw new Error('the sandbox has forgotten calls');
      calls.push(...page);
    }
  }

  async machines(): Promise<(Omit<SandboxMachine, 'classifications'> & { machineId: string })[]> {
    return this.get('/sandbox/machines');
  }

  async addFault(fault: Record<string, unknown>): Promise<void> {
    await this.send('POST', '/sandbox/faults', fault);
  }

  /** Replaces all faults in one step: no call falls between the old and the new. */
  async replaceFaults(faults: readonly Record<string, unknown>[]): Promise<void> {
    await this.send('PUT', '/sandbox/faults', faults);
  }

  async clearFaults(): Promise<void> {
    await this.send('DELETE', '/sandbox/faults');
  }

  /** Lets the sandbox answer in another of the ways that the interface allows. */
  async setOptions(options: Record<string, unknown>): Promise<void> {
    await this.send('PUT', '/sandbox/options', options);
  }

  /** Forces a state until it is released with null, or until `to`; in the past it rewrites the activity log. */
  async forceState(
    machineId: string,
    state: string | null,
    from?: number,
    to?: number,
  ): Promise<void> {
    await this.send('POST', `/sandbox/machines/${machineId}/state`, { state, from, to });
  }

  /** Replaces all machines by a scripted plant, see docs/sandbox.md. */
  async playTimeline(script: Record<string, unknown>): Promise<void> {
    await this.send('POST', '/sandbox/timeline', script);
  }

  /** Waits until the machine has this list. */
  async listBecomes(machineId: string, list: readonly string[]): Promise<void> {
    const wanted = JSON.stringify(list);
    await eventually(
      `the list of ${machineId} is ${wanted}`,
      async () => JSON.stringify((await this.machine(machineId)).workingOrders) === wanted,
    );
  }

  async get<T>(path: string): Promise<T> {
    const response = await fetch(`${this.url}${path}`);
    if (!response.ok) throw new Error(`GET ${path}: ${response.status} ${await response.text()}`);
    return (await response.json()) as T;
  }

  private async send(method: string, path: string, body?: unknown): Promise<void> {
    const response = await fetch(`${this.url}${path}`, {
      method,
      ...(body !== undefined && {
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
      }),
    });
    if (!response.ok)
      throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`);
  }
}
