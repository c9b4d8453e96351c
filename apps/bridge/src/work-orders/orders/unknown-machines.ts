import { Injectable } from '@nestjs/common';
import { afterRealMs } from '#libs/clock';
import { type Rejection } from '#libs/contracts';
import { type PartitionOwnership } from '#libs/kafka';
import { LOOK_UP_GAP_MS, MachineDirectory } from '../../machine-directory/index.js';

/**
 * Everything behind it waits meanwhile; afterwards the machine counts as known, and is judged when it is
 * called. A look-up may have to wait for the gap after the last one, and then takes its time.
 */
const PATIENCE_MS = LOOK_UP_GAP_MS + 1000;

/** Says which machines do not exist, before orders are put on them. */
@Injectable()
export class UnknownMachines {
  constructor(private readonly directory: MachineDirectory) {}

  /** Why each of them that does not exist is refused. Never rejects. */
  async among(
    machineIds: ReadonlySet<string>,
    ownership: PartitionOwnership,
  ): Promise<ReadonlyMap<string, Rejection>> {
    const unlisted = [...machineIds].filter((id) => !this.directory.hasMachine(id));
    const refusals = new Map<string, Rejection>();
    if (unlisted.length === 0) return refusals;
    const patience = new AbortController();
    const cancel = afterRealMs(PATIENCE_MS, () => {
      patience.abort(new Error('the look-up of machines takes too long'));
    });
    const signal = AbortSignal.any([ownership.signal, patience.signal]);
    await Promise.all(
      unlisted.map(async (machineId) => {
        const refusal = await this.refusal(machineId, signal);
        if (refusal !== undefined) refusals.set(machineId, refusal);
      }),
    );
    cancel();
    return refusals;
  }

  private async refusal(machineId: string, signal: AbortSignal): Promise<Rejection | undefined> {
    try {
      const admission = await this.directory.admitMachine(machineId, signal);
      return admission.kind === 'rejected' ? admission.rejection : undefined;
    } catch {
      // Out of patience, or the partition is lost.
      return undefined;
    }
  }
}
