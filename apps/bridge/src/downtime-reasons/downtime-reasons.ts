import { Inject, Injectable } from '@nestjs/common';
import { Clock } from '#libs/clock';
import { MachineCloudClient } from '#libs/cloud-client';
import type { BridgeSettings } from '#libs/config';
import {
  describeAhead,
  type DowntimeReason,
  naming,
  type Parsed,
  parseDowntimeReason,
  rejected,
} from '#libs/contracts';
import { backOffMs, CallSlots } from '#libs/delivery';
import {
  type Admission,
  type Command,
  CommandDispatcher,
  CommandOutcomes,
  GO,
  RETRY_BACK_OFF,
  type TracedPermit,
} from '../delivery/index.js';
import { FlowControls } from '../flow-control/index.js';
import { MachineDirectory, ReasonLists } from '../machine-directory/index.js';
import { BRIDGE_SETTINGS } from '../platform/index.js';

type ReasonCommand = Command<DowntimeReason>;

/** A postponed reason is judged again after so long: the first answers may date the service's clock badly. */
const JUDGE_AGAIN_AFTER_MS = 5000;
/** An end may lie ahead by as much as a shift: without one the service takes the end of the shift. */
const LONGEST_SHIFT_SECONDS = 86_400;
/** The interface: "start time in the future", among other reasons that have the same status. */
const UNPROCESSABLE = 422;

/** Attaches downtime reasons to machines (interface, setMachineClassification), each machine's in order. */
@Injectable()
export class DowntimeReasons {
  readonly flow: CommandDispatcher<DowntimeReason>;

  constructor(
    @Inject(BRIDGE_SETTINGS) private readonly settings: BridgeSettings,
    private readonly clock: Clock,
    private readonly cloud: MachineCloudClient,
    private readonly directory: MachineDirectory,
    private readonly reasons: ReasonLists,
    outcomes: CommandOutcomes,
    slots: CallSlots,
    controls: FlowControls,
  ) {
    this.flow = new CommandDispatcher<DowntimeReason>({
      flow: 'downtime-reasons',
      hold: controls.holdOf('downtime-reasons'),
      clock,
      slots,
      limits: { maxMachines: 1, maxBytes: Infinity },
      lingerMs: 0,
      deferredAfterMs: settings.outcomeDeferredAfterSeconds * 1000,
      admit: (command) => this.admit(command),
      call: (commands, permit) => this.call(commands, permit),
      callEmpty: (permit) => cloud.setNoMachineClassification(permit),
      retryRefused: (...refused) => this.retryRefused(...refused),
      onDeferred: (waiter) => outcomes.publishDeferred(waiter.results.target, waiter),
    });
  }

  /** Reads a reason; refuses times far ahead as it comes, for by its turn they may have passed, however wrong. */
  readReason(body: Buffer): Parsed<DowntimeReason> {
    const parsed = parseDowntimeReason(body);
    if (!parsed.ok) return parsed;
    const { machineId, startTime, endTime = startTime } = parsed.value;
    const { downtimeReasonMaxSkewSeconds } = this.settings;
    const nowSeconds = this.clock.nowSeconds();
    if (startTime > nowSeconds + downtimeReasonMaxSkewSeconds) {
      const detail = `startTime ${describeAhead(startTime, downtimeReasonMaxSkewSeconds)}`;
      return naming(rejected('start-in-future', detail), machineId);
    }
    if (endTime > nowSeconds + LONGEST_SHIFT_SECONDS) {
      const detail = `endTime ${describeAhead(endTime, LONGEST_SHIFT_SECONDS)}`;
      return naming(rejected('invalid-message', detail), machineId);
    }
    return parsed;
  }

  private call(commands: readonly ReasonCommand[], permit: TracedPermit) {
    const [command] = commands;
    if (command === undefined) throw new Error('a call without a reason');
    return this.cloud.setMachineClassification(command.payload, permit);
  }

  private admit(command: ReasonCommand): Admission | Promise<Admission> {
    const { machineId, payload } = command;
    const notNow = this.judgeStart(payload);
    if (notNow !== undefined) return notNow;
    const isKnown =
      this.directory.hasMachine(machineId) && this.reasons.has(machineId, payload.reasonId);
    return isKnown ? GO : this.lookUp(command);
  }

  /**
   * The service refuses a start that lies in its future. So a reason whose start lies a little ahead waits until
   * that has passed here and, as far as the service's clock is known from its answers, there. The clock may be a
   * gateway's: no reason waits for it longer than a start may lie ahead; then the service is asked.
   */
  private judgeStart({ startTime }: DowntimeReason): Admission | undefined {
    const mostBehindMs = this.settings.downtimeReasonMaxSkewSeconds * 1000;
    const waitMs = -this.passedMs(startTime, mostBehindMs) / this.clock.speed;
    return waitMs > 0
      ? { kind: 'not-yet', waitMs: Math.min(waitMs, JUDGE_AGAIN_AFTER_MS) }
      : undefined;
  }

  /** For how long the start has certainly passed on both clocks, in the clock's time; negative before that. */
  private passedMs(startTime: number, mostBehindMs = Infinity): number {
    const { offsetMs, errorMs } = this.cloud.clockOffset ?? { offsetMs: 0, errorMs: 0 };
    const aheadMs = Math.max(Math.min(0, offsetMs - errorMs), -mostBehindMs);
    return this.clock.nowMs() + aheadMs - startTime * 1000;
  }

  /**
   * A start that passed only just now may lie in the future there: the estimate may be a gateway's, or there may be
   * none. The reason waits, with what is behind it of its machine, until no clock within the skew can be the cause.
   */
  private retryRefused(
    { payload, attempts }: ReasonCommand,
    status: number,
    callMs: number,
  ): number | undefined {
    const passedMs = this.passedMs(payload.startTime) - callMs * this.clock.speed;
    const isSure = passedMs > this.settings.downtimeReasonMaxSkewSeconds * 1000;
    if (status !== UNPROCESSABLE || isSure) return undefined;
    return Math.max(1, backOffMs(attempts, RETRY_BACK_OFF));
  }

  private async lookUp({ machineId, payload, waiters }: ReasonCommand): Promise<Admission> {
    const [waiter] = waiters;
    if (waiter === undefined) throw new Error('a reason nobody waits for');
    const signal = waiter.results.message.revoked;
    const machine = await this.directory.admitMachine(machineId, signal);
    if (machine.kind !== 'go') return machine;
    const { reasonId } = payload;
    const answer = await this.reasons.check(machineId, reasonId, signal, waiter.sinceMs);
    if (typeof answer === 'object') return answer;
    if (answer !== 'unknown') return GO;
    const detail = `${machineId} has no reason ${reasonId}`;
    return { kind: 'rejected', rejection: { code: 'unknown-reason', detail } };
  }
}
