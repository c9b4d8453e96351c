import { type CommandOutcome } from '#libs/contracts';

const OUTCOMES_PER_MACHINE = 5;
const MACHINES = 20_000;

/** The latest outcomes of each machine, for the read API; the machine heard of longest ago is forgotten first. */
export class OutcomeHistory {
  private readonly outcomes = new Map<string, readonly CommandOutcome[]>();

  of(machineId: string): readonly CommandOutcome[] {
    return this.outcomes.get(machineId) ?? [];
  }

  add(machineId: string, outcome: CommandOutcome): void {
    const recent = [outcome, ...this.of(machineId)].slice(0, OUTCOMES_PER_MACHINE);
    // A map keeps the order of insertion: taking the key out first makes it the youngest.
    this.outcomes.delete(machineId);
    this.outcomes.set(machineId, recent);
    if (this.outcomes.size <= MACHINES) return;
    const [oldest] = this.outcomes.keys();
    if (oldest !== undefined) this.outcomes.delete(oldest);
  }
}
