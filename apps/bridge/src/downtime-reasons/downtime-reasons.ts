import { Inject, Injectable } from '@nestjs/common';
import { Clock } from '#libs/clock';
import { MachineCloudClient } from '#libs/cloud-client';
import { type BridgeSettings } from '#libs/config';
import { type DowntimeReason, startInFuture } from '#libs/contracts';
import { ConcurrencyLimit } from '#libs/delivery';
import {
  announceDeferral,
  type AnsweredMessage,
  CommandFlow,
  CommandOutcomes,
  type CommandResult,
  type Refusal,
} from '../command-delivery/index.js';
import { MachineDirectory, refuseUnknownMachine } from '../machine-directory/index.js';
import { BRIDGE_SETTINGS } from '../platform/index.js';

/** Attaches downtime reasons to machines (interface, setMachineClassification), each machine's in order. */
@Injectable()
export class DowntimeReasons {
  readonly flow: CommandFlow;

  constructor(
    @Inject(BRIDGE_SETTINGS) private readonly settings: BridgeSettings,
    private readonly clock: Clock,
    private readonly cloud: MachineCloudClient,
    private readonly directory: MachineDirectory,
    private readonly outcomes: CommandOutcomes,
    limit: ConcurrencyLimit,
  ) {
    this.flow = new CommandFlow('downtime-reasons', limit, clock);
  }

  /** Enters the machine's lane before it returns; resolves when the reason is applied or refused. */
  apply(reason: DowntimeReason, answered: AnsweredMessage): Promise<CommandResult> {
    const { machineId } = reason;
    const { signal } = answered.message;
    const progress = { calls: 0 };
    return announceDeferral(
      this.settings.outcomeDeferredAfterSeconds * 1000,
      () => this.outcomes.publishDeferred('downtime-reason', answered, machineId, progress.calls),
      () =>
        this.flow.inLane(machineId, async () => {
          await this.holdUntilStarted(reason, signal);
          return this.flow.callUntilFinal({
            machineId,
            signal,
            refuse: () => this.refuse(reason, signal),
            progress,
            call: () => this.cloud.setMachineClassification(reason),
          });
        }),
    );
  }

  /** The service refuses a start in the future; a terminal's clock may be a little ahead. */
  private async holdUntilStarted(reason: DowntimeReason, signal: AbortSignal): Promise<void> {
    if (this.startIs(reason) !== 'hold') return;
    await this.clock.sleepUntilSeconds(reason.startTime, signal);
  }

  private async refuse(reason: DowntimeReason, signal: AbortSignal): Promise<Refusal> {
    const { machineId, reasonId, startTime } = reason;
    if (this.startIs(reason) === 'reject') {
      const detail = `startTime ${startTime} lies more than ${this.settings.downtimeReasonMaxSkewSeconds} s ahead of the clock`;
      return { code: 'start-in-future', detail };
    }
    const unknownMachine = await refuseUnknownMachine(this.directory, machineId, signal);
    if (unknownMachine !== undefined) return unknownMachine;
    const answer = await this.directory.checkReason(machineId, reasonId, signal);
    if (answer === 'unavailable') return answer;
    if (answer === 'unknown') {
      return { code: 'unknown-reason', detail: `${machineId} has no reason ${reasonId}` };
    }
    return undefined;
  }

  private startIs(reason: DowntimeReason): ReturnType<typeof startInFuture> {
    const { downtimeReasonMaxSkewSeconds } = this.settings;
    return startInFuture(reason, this.clock.nowSeconds(), downtimeReasonMaxSkewSeconds);
  }
}
