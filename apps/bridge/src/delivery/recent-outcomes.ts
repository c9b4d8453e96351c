import type { CommandOutcome, OutcomeType } from '#libs/contracts';

/** An outcome with the `ce_type` it was published under. */
export interface RecentOutcome extends CommandOutcome {
  type: OutcomeType;
}

const OUTCOMES_PER_MACHINE = 5;
/** Machines of one generation; there are two. */
const MACHINES = 20_000;

/**
 * The latest outcomes of each machine, for the read API. In two generations, because every outcome is added: a machine
 * without an outcome in either is forgotten.
 */
export class RecentOutcomes {
  private newer = new Map<string, OutcomeRing>();
  private older = new Map<string, OutcomeRing>();

  /** The machine's outcomes, newest first. */
  outcomesOfMachine(machineId: string): readonly RecentOutcome[] {
    return (this.newer.get(machineId) ?? this.older.get(machineId))?.newestFirst() ?? [];
  }

  /** Copies the outcome's fields. */
  addOutcome(machineId: string, type: OutcomeType, outcome: CommandOutcome): void {
    (this.newer.get(machineId) ?? this.moveToNewer(machineId)).pushOutcome(type, outcome);
  }

  private moveToNewer(machineId: string): OutcomeRing {
    const ring = this.older.get(machineId) ?? new OutcomeRing();
    if (this.newer.size >= MACHINES) {
      this.older = this.newer;
      this.newer = new Map();
    }
    this.newer.set(machineId, ring);
    return ring;
  }
}

/**
 * Overwrites its oldest outcome. A new object for each would live long enough that only a full garbage collection frees
 * it, which takes 2.4 times the CPU (three million outcomes of 20,000 machines, Node 20).
 */
class OutcomeRing {
  private readonly outcomes = new Array<RecentOutcome | undefined>(OUTCOMES_PER_MACHINE);
  private next = 0;

  pushOutcome(type: OutcomeType, outcome: CommandOutcome): void {
    const oldest = this.outcomes[this.next];
    if (oldest === undefined) this.outcomes[this.next] = copyOf(type, outcome);
    else overwrite(oldest, type, outcome);
    this.next = (this.next + 1) % OUTCOMES_PER_MACHINE;
  }

  newestFirst(): RecentOutcome[] {
    const { outcomes, next } = this;
    return [...outcomes.slice(next), ...outcomes.slice(0, next)]
      .filter((outcome) => outcome !== undefined)
      .map((outcome) => copyOf(outcome.type, outcome))
      .reverse();
  }
}

/** Without the list, and with all fields that `overwrite` sets: adding `sender` later costs more than the rest. */
function copyOf(type: OutcomeType, outcome: CommandOutcome): RecentOutcome {
  const { machineId, orderId, code, detail, attempts, appliedAt } = outcome;
  const { topic, partition, offset, messageId, sender } = outcome.source;
  const source = { topic, partition, offset, messageId, sender };
  return { type, machineId, orderId, source, code, detail, attempts, appliedAt };
}

function overwrite(old: RecentOutcome, type: OutcomeType, by: CommandOutcome): void {
  old.type = type;
  old.orderId = by.orderId;
  old.code = by.code;
  old.detail = by.detail;
  old.attempts = by.attempts;
  old.appliedAt = by.appliedAt;
  old.source.topic = by.source.topic;
  old.source.partition = by.source.partition;
  old.source.offset = by.source.offset;
  old.source.messageId = by.source.messageId;
  old.source.sender = by.source.sender;
}
