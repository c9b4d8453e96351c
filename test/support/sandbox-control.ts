import { eventually } from './eventually.js';

/** A call as the sandbox's log has it; only what tests look at. */
export interface LoggedCall {
  operation: string;
  machineIds: string[];
  status: number;
  body: unknown;
  /** Real, monotonic milliseconds of the sandbox. */
  startedAtMs: number;
  endedAtMs: number | null;
}

/** What the sandbox knows of one machine: only what tests look at. */
export interface SandboxMachine {
  workingOrders: string[];
  classifications: { reasonId: string; startTime: number; endTime: number | null }[];
}

/** The sandbox's own surface: truth, call log and faults. */
export class SandboxControl {
  constructor(readonly url: string) {}

  machine(machineId: string): Promise<SandboxMachine> {
    return this.get(`/sandbox/machines/${encodeURIComponent(machineId)}`);
  }

  calls(operation: string): Promise<LoggedCall[]> {
    return this.get(`/sandbox/calls?operation=${operation}`);
  }

  async addFault(fault: Record<string, unknown>): Promise<void> {
    await this.send('POST', '/sandbox/faults', fault);
  }

  async clearFaults(): Promise<void> {
    await this.send('DELETE', '/sandbox/faults');
  }

  /** Lets it answer in another of the ways the interface leaves room for. */
  async setOptions(options: Record<string, unknown>): Promise<void> {
    await this.send('PUT', '/sandbox/options', options);
  }

  /** Forces a state until it is released with null. */
  async forceState(machineId: string, state: string | null): Promise<void> {
    await this.send('POST', `/sandbox/machines/${machineId}/state`, { state });
  }

  /** Waits until the machine's list is this one. */
  async listBecomes(machineId: string, list: readonly string[]): Promise<void> {
    const wanted = JSON.stringify(list);
    await eventually(
      async () => JSON.stringify((await this.machine(machineId)).workingOrders) === wanted,
      { what: `the list of ${machineId} is ${wanted}` },
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
