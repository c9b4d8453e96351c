/** Longer than a call can take, and what is asked about lies before it. */
const REMEMBERED_MS = 60_000;

/** When the latest calls that went well began, by machine: of the last minute, so that it is bounded by their number. */
export class LatestApplied {
  /** In the order in which the calls ended. */
  private readonly startedMs = new Map<string, number>();

  note(commands: readonly { machineId: string }[], startedMs: number): void {
    for (const { machineId } of commands) {
      this.startedMs.delete(machineId);
      this.startedMs.set(machineId, startedMs);
    }
    for (const [machineId, ms] of this.startedMs) {
      if (ms >= startedMs - REMEMBERED_MS) return;
      this.startedMs.delete(machineId);
    }
  }

  /** -Infinity if none is remembered. */
  startedMsOf(machineId: string): number {
    return this.startedMs.get(machineId) ?? -Infinity;
  }
}
