import { realDelayMs } from '#libs/clock';
import type { OwnedState, StateChange } from '#libs/kafka';
import { OutputFrames } from '#libs/schema-registry';
import type { TraceContext } from '#libs/tracing';
import type { Derivation } from '../derivation/derive-state-changes.js';
import type { TrackedMachine } from '../derivation/tracked-machine.js';
import {
  MAX_TRANSACTION_BYTES,
  type PublicationStep,
  publicationSteps,
} from './publication-steps.js';

interface Submission extends PublicationStep {
  resolve: () => void;
  reject: (error: unknown) => void;
}

/** Bounds how long a transaction lasts, however small its records. */
const MAX_RECORDS = 1000;
/** A transaction costs as much as a hundred records: what becomes ready within this time shares one. */
const LINGER_MS = 100;

/** Publishes what was derived for the machines of one partition, one transaction after the other. */
export class StatePublisher {
  private readonly waiting: Submission[] = [];
  private isCommitting = false;

  constructor(
    private readonly state: OwnedState<TrackedMachine>,
    readonly topicPrefix: string,
    readonly frames = new OutputFrames(),
  ) {}

  /**
   * Resolves once the events, the latest state and what is remembered are committed.
   *
   * @param trace that the events belong to
   * @throws when that is not certain; the partition is lost then, and derived anew by its next owner
   */
  async publish(derivation: Derivation, trace?: TraceContext): Promise<void> {
    const before = this.state.get(derivation.next.machineId);
    const steps = publicationSteps(derivation, before, this, trace);
    await Promise.all(steps.map((step) => this.submit(step)));
  }

  private submit(step: PublicationStep): Promise<void> {
    return new Promise((resolve, reject) => {
      this.waiting.push({ ...step, resolve, reject });
      if (!this.isCommitting) void this.commitAll();
    });
  }

  private async commitAll(): Promise<void> {
    this.isCommitting = true;
    let wasFull = false;
    while (this.waiting.length > 0) {
      if (!wasFull) await realDelayMs(LINGER_MS);
      const batch = this.takeBatch();
      wasFull = this.waiting.length > 0;
      try {
        await this.state.commit(
          batch.map(({ tracked }): StateChange<TrackedMachine> => [tracked.machineId, tracked]),
          batch.flatMap(({ records }) => records),
        );
        for (const { resolve } of batch) resolve();
      } catch (error) {
        for (const { reject } of [...batch, ...this.waiting.splice(0)]) reject(error);
      }
    }
    this.isCommitting = false;
  }

  /** As much as fits, and at least one: what is too large by itself is for Kafka to refuse. */
  private takeBatch(): Submission[] {
    let records = 0;
    let bytes = 0;
    let count = 0;
    for (const submission of this.waiting) {
      records += submission.records.length;
      bytes += submission.bytes;
      if (count > 0 && (records > MAX_RECORDS || bytes > MAX_TRANSACTION_BYTES)) break;
      count += 1;
    }
    return this.waiting.splice(0, count);
  }
}
