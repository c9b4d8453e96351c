import { Controller, Inject, Injectable } from '@nestjs/common';
import { EventPattern } from '@nestjs/microservices';
import { Clock } from '#libs/clock';
import { MachineCloudClient } from '#libs/cloud-client';
import type { BridgeSettings } from '#libs/config';
import {
  describeAhead,
  type DowntimeReason,
  openEnvelope,
  type Parsed,
  parseDowntimeReason,
  rejected,
  TOPICS,
  withMachineId,
} from '#libs/contracts';
import { backOffMs, CallSlots } from '#libs/delivery';
import { handleEach, type InboundMessage } from '#libs/kafka';
import {
  type Admission,
  type Command,
  CommandDispatcher,
  CommandOutcomes,
  GO,
  MessageResults,
  rejection,
  RETRY_BACK_OFF,
  type TracedPermit,
} from '../delivery/index.js';
import { FlowControls } from '../flow-control/index.js';
import { MachineDirectory, ReasonLists } from '../machine-directory/index.js';
import { BRIDGE_SETTINGS } from '../platform/index.js';

type ReasonCommand = Command<DowntimeReason>;

/** The longest wait until a postponed reason is checked again: the first answers may date the service's clock badly. */
const JUDGE_AGAIN_AFTER_MS = 5000;
/** How far an end may lie ahead: without an end, the service takes the end of the shift. */
const LONGEST_SHIFT_SECONDS = 86_400;
/** The interface: "start time in the future", among other causes with the same status. */
const UNPROCESSABLE = 422;

/** Attaches downtime reasons to machines (interface, setMachineClassification), for each machine in order. */
@Injectable()
export class DowntimeReasons {
  readonly flow: CommandDispatcher<DowntimeReason>;

  constructor(
    @Inject(BRIDGE_SETTINGS) private readonly settings: BridgeSettings,
    private readonly clock: Clock,
    private readonly cloud: MachineCloudClient,
    private readonly directory: MachineDirectory,
    private readonly reasons: ReasonLists,
    private readonly outcomes: CommandOutcomes,
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
      admit: (command) => this.admitReason(command),
      call: (commands, permit) => this.setReason(commands, permit),
      callEmpty: (permit) => cloud.setNoMachineClassification(permit),
      retryRefused: (...refused) => this.retryRefused(...refused),
      onDeferred: (waiter) => outcomes.publishDeferred(waiter.results.target, waiter),
    });
  }

  /** Accepts a message of `mes.downtime-reasons.v1`. */
  readonly acceptReason = (message: InboundMessage): void => {
    const envelope = openEnvelope(message);
    const parsed = envelope.ok ? this.readReason(envelope.value.body) : envelope;
    const target = this.outcomes.targetOf(message, envelope);
    if (!parsed.ok) {
      message.finish(this.outcomes.resultRecords(target, [rejection(parsed.rejection)]));
      return;
    }
    const results = new MessageResults(target, 1, this.outcomes.resultRecords);
    this.flow.submitCommand(parsed.value.machineId, parsed.value, results);
  };

  /** Parses a reason and rejects times too far ahead at receipt: by the time of its call they might have passed. */
  private readReason(body: Buffer): Parsed<DowntimeReason> {
    const parsed = parseDowntimeReason(body);
    if (!parsed.ok) return parsed;
    const { machineId, startTime, endTime = startTime } = parsed.value;
    const { downtimeReasonMaxSkewSeconds } = this.settings;
    const nowSeconds = this.clock.nowSeconds();
    if (startTime > nowSeconds + downtimeReasonMaxSkewSeconds) {
      const detail = `startTime ${describeAhead(startTime, downtimeReasonMaxSkewSeconds)}`;
      return withMachineId(rejected('start-in-future', detail), machineId);
    }
    if (endTime > nowSeconds + LONGEST_SHIFT_SECONDS) {
      const detail = `endTime ${describeAhead(endTime, LONGEST_SHIFT_SECONDS)}`;
      return withMachineId(rejected('invalid-message', detail), machineId);
    }
    return parsed;
  }

  private setReason(commands: readonly ReasonCommand[], permit: TracedPermit) {
    const [command] = commands;
    if (command === undefined) throw new Error('a call without a reason');
    return this.cloud.setMachineClassification(command.payload, permit);
  }

  private admitReason(command: ReasonCommand): Admission | Promise<Admission> {
    const { machineId, payload } = command;
    const notNow = this.postponeStart(payload);
    if (notNow !== undefined) return notNow;
    const isKnown =
      this.directory.hasMachine(machineId) && this.reasons.hasReason(machineId, payload.reasonId);
    return isKnown ? GO : this.lookUpReason(command);
  }

  /**
   * The service refuses a start in its future. So a reason whose start lies a little ahead waits until the start has
   * passed on the bridge's clock and on the service's, as known from its answers. That clock may be a gateway's: no
   * reason waits for it longer than a start may lie ahead; after that the service is asked.
   */
  private postponeStart({ startTime }: DowntimeReason): Admission | undefined {
    const mostBehindMs = this.settings.downtimeReasonMaxSkewSeconds * 1000;
    const waitMs = -this.sinceStartMs(startTime, mostBehindMs) / this.clock.speed;
    return waitMs > 0
      ? { kind: 'not-yet', waitMs: Math.min(waitMs, JUDGE_AGAIN_AFTER_MS) }
      : undefined;
  }

  /** How long ago the start was on both clocks at least, in milliseconds of the clock; negative before it. */
  private sinceStartMs(startTime: number, mostBehindMs = Infinity): number {
    const { offsetMs, errorMs } = this.cloud.clockOffset ?? { offsetMs: 0, errorMs: 0 };
    const aheadMs = Math.max(Math.min(0, offsetMs - errorMs), -mostBehindMs);
    return this.clock.nowMs() + aheadMs - startTime * 1000;
  }

  /**
   * A start that passed only recently may lie in the service's future: the clock estimate may be a gateway's, or
   * missing. The reason, and later ones of its machine, wait until no clock within the allowed skew can be the cause.
   */
  private retryRefused(
    { payload, attempts }: ReasonCommand,
    status: number,
    callMs: number,
  ): number | undefined {
    const passedMs = this.sinceStartMs(payload.startTime) - callMs * this.clock.speed;
    const isSure = passedMs > this.settings.downtimeReasonMaxSkewSeconds * 1000;
    if (status !== UNPROCESSABLE || isSure) return undefined;
    return Math.max(1, backOffMs(attempts, RETRY_BACK_OFF));
  }

  private async lookUpReason({ machineId, payload, waiters }: ReasonCommand): Promise<Admission> {
    const [waiter] = waiters;
    if (waiter === undefined) throw new Error('a reason nobody waits for');
    const signal = waiter.results.message.revoked;
    const machine = await this.directory.admitMachine(machineId, signal);
    if (machine.kind !== 'go') return machine;
    const { reasonId } = payload;
    const answer = await this.reasons.checkReason(machineId, reasonId, signal, waiter.sinceMs);
    if (typeof answer === 'object') return answer;
    if (answer !== 'unknown') return GO;
    const detail = `${machineId} has no reason ${reasonId}`;
    return { kind: 'rejected', rejection: { code: 'unknown-reason', detail } };
  }
}

@Controller()
export class DowntimeReasonsController {
  constructor(private readonly reasons: DowntimeReasons) {}

  @EventPattern(TOPICS.downtimeReasons)
  handle(messages: readonly InboundMessage[]): void {
    handleEach(messages, this.reasons.acceptReason);
  }
}
