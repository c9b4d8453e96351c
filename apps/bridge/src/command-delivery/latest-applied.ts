/** Longer than a call can take, and what is asked about lies before it. */
const REMEMBERED_MS = 60_000;

/**
 * When the latest calls that went well began, by machine: of the last minute or two, so that it is bounded by their
 * number. In two generations, for every call passes here: the elder is forgotten when the younger is a minute old.
 */
export class LatestApplied {
  private younger = new Map<string, number>();
  private elder = new Map<string, number>();
  private begunMs = -Infinity;

  note(commands: readonly { machineId: string }[], startedMs: number): void {
    if (startedMs >= this.begunMs + REMEMBERED_MS) this.beginAnother(startedMs);
    for (const { machineId } of commands) this.younger.set(machineId, startedMs);
  }

  /** -Infinity if none is remembered. */
  startedMsOf(machineId: string): number {
    return this.younger.get(machineId) ?? this.elder.get(machineId) ?? -Infinity;
  }

  private beginAnother(startedMs: number): void {
    this.elder = this.younger;
    this.younger = new Map();
    this.begunMs = startedMs;
  }
}
