import { Inject, Injectable } from '@nestjs/common';
import { Clock, realNowMs } from '#libs/clock';
import { MachineCloudClient } from '#libs/cloud-client';
import { type BridgeSettings } from '#libs/config';
import { type DowntimeReason, startInFuture } from '#libs/contracts';
import { type CallPermit, CallSlots } from '#libs/delivery';
import {
  type Admission,
  Command,
  CommandDispatcher,
  CommandOutcomes,
  CommandWaiter,
  GO,
  type MessageAnswers,
} from '../command-delivery/index.js';
import { admitKnownMachine, MachineDirectory } from '../machine-directory/index.js';
import { BRIDGE_SETTINGS } from '../platform/index.js';

type ReasonCommand = Command<DowntimeReason>;

/** Each goes alone. */
const weightless = (): number => 0;

/** Attaches downtime reasons to machines (interface, setMachineClassification), each machine's in order. */
@Injectable()
export class DowntimeReasons {
  readonly flow: CommandDispatcher<DowntimeReason>;

  constructor(
    @Inject(BRIDGE_SETTINGS) private readonly settings: BridgeSettings,
    private readonly clock: Clock,
    private readonly cloud: MachineCloudClient,
    private readonly directory: MachineDirectory,
    outcomes: CommandOutcomes,
    slots: CallSlots,
  ) {
    this.flow = new CommandDispatcher<DowntimeReason>({
      flow: 'downtime-reasons',
      clock,
      slots,
      limits: { maxMachines: 1, maxBytes: Infinity },
      lingerMs: 0,
      deferredAfterMs: settings.outcomeDeferredAfterSeconds * 1000,
      admit: (command) => this.admit(command),
      call: (commands, permit) => this.call(commands, permit),
      onDeferred: (waiter) => {
        outcomes.publishDeferred('downtime-reason', waiter);
      },
    });
  }

  /** `answers` hear what became of the reason once it is applied or refused. */
  apply(reason: DowntimeReason, answers: MessageAnswers): void {
    const { machineId } = reason;
    const waiter = new CommandWaiter(machineId, answers, realNowMs());
    this.flow.submit(new Command(machineId, weightless, reason, [waiter]));
  }

  private call(commands: readonly ReasonCommand[], permit: CallPermit) {
    const [command] = commands;
    if (command === undefined) throw new Error('a call without a reason');
    return this.cloud.setMachineClassification(command.payload, permit);
  }

  private admit(command: ReasonCommand): Admission | Promise<Admission> {
    const { machineId, payload } = command;
    const notNow = this.judgeStart(payload);
    if (notNow !== undefined) return notNow;
    if (
      this.directory.hasMachine(machineId) &&
      this.directory.hasReason(machineId, payload.reasonId)
    )
      return GO;
    return this.lookUp(command);
  }

  /** The service refuses a start in the future; a terminal's clock may be a little ahead. */
  private judgeStart({ startTime }: DowntimeReason): Admission | undefined {
    const { downtimeReasonMaxSkewSeconds } = this.settings;
    const start = startInFuture(
      { startTime },
      this.clock.nowSeconds(),
      downtimeReasonMaxSkewSeconds,
    );
    if (start === 'hold') {
      return {
        kind: 'not-yet',
        waitMs: (startTime * 1000 - this.clock.nowMs()) / this.clock.speed,
      };
    }
    if (start !== 'reject') return undefined;
    const detail = `startTime ${startTime} lies more than ${downtimeReasonMaxSkewSeconds} s ahead of the clock`;
    return { kind: 'rejected', rejection: { code: 'start-in-future', detail } };
  }

  private async lookUp({ machineId, payload, waiters }: ReasonCommand): Promise<Admission> {
    const signal = waiters[0]?.answers.message.ownership.signal;
    if (signal === undefined) throw new Error('a reason nobody waits for');
    const machine = await admitKnownMachine(this.directory, machineId, signal);
    if (machine.kind !== 'go') return machine;
    const { reasonId } = payload;
    const answer = await this.directory.checkReason(machineId, reasonId, signal);
    if (typeof answer === 'object') return answer;
    if (answer !== 'unknown') return GO;
    const detail = `${machineId} has no reason ${reasonId}`;
    return { kind: 'rejected', rejection: { code: 'unknown-reason', detail } };
  }
}
