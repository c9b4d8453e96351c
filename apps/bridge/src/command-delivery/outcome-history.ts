import { type CommandOutcome } from '#libs/contracts';

const OUTCOMES_PER_MACHINE = 5;
/** Of a generation; there are two. */
const MACHINES = 20_000;

/**
 * The latest outcomes of each machine, for the read API. Kept in two generations, for every outcome passes
 * here: when the younger is full it becomes the elder, and whoever has not been heard of since the one
 * before is forgotten.
 */
export class OutcomeHistory {
  private younger = new Map<string, CommandOutcome[]>();
  private elder = new Map<string, CommandOutcome[]>();

  /** Newest first. */
  of(machineId: string): readonly CommandOutcome[] {
    return this.younger.get(machineId) ?? this.elder.get(machineId) ?? [];
  }

  add(machineId: string, outcome: CommandOutcome): void {
    const recent = this.younger.get(machineId) ?? this.rejuvenate(machineId);
    recent.unshift(outcome);
    if (recent.length > OUTCOMES_PER_MACHINE) recent.pop();
  }

  private rejuvenate(machineId: string): CommandOutcome[] {
    const recent = this.elder.get(machineId) ?? [];
    if (this.younger.size >= MACHINES) {
      this.elder = this.younger;
      this.younger = new Map();
    }
    this.younger.set(machineId, recent);
    return recent;
  }
}
