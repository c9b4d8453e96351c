import { Inject, Injectable, Logger, type OnModuleDestroy } from '@nestjs/common';
import { afterRealMs, Clock, realDelayMs, realNowMs, withDeadline } from '#libs/clock';
import type { BridgeSettings } from '#libs/config';
import { type Flow, FLOWS, INTERNAL_TOPICS, isJsonObject, readJson } from '#libs/contracts';
import {
  describeKafkaFailure,
  followTopics,
  IdempotentProducer,
  type KafkaClient,
  type RecordPlace,
  RecordRefusedError,
  type StoredRecord,
} from '#libs/kafka';
import { BRIDGE_SETTINGS, KAFKA } from '../platform/index.js';

/**
 * Value of `machine-bridge.flow-controls.v1`, compacted: whether operators have paused a flow.
 *
 * - Key: name of the flow. Value: this, as JSON. No headers.
 * - Written by the process that an operator asks; the latest record of a key counts, whoever wrote it. If several
 *   partitions have records of a key, because the topic was given more, the one with the latest `since` counts.
 * - Read by every process, from the first record on, before it makes a call.
 * - Tombstone: never written. If read, the flow is not paused; the same holds for a value that cannot be read.
 */
export interface FlowControl {
  paused: boolean;
  /** Null if the flow is not paused. */
  reason: string | null;
  /** Who paused or resumed the flow; null if not given. */
  by: string | null;
  /** Epoch seconds: paused since, or resumed at. */
  since: number;
}

/** Kafka did not take a control in time, or this process has not read it back. */
export class ControlNotTakenError extends Error {}

/** Together, these two are shorter than a client waits for the answer. */
const WRITE_DEADLINE_MS = 4000;
const READ_BACK_DEADLINE_MS = 4000;
const READ_BACK_POLL_MS = 10;
const STOP_DEADLINE_MS = 2000;

/** The flows paused by hand, as Kafka has them: the same in all processes of the group, within a second. */
@Injectable()
export class FlowControls implements OnModuleDestroy {
  private readonly logger = new Logger('FlowControls');
  private readonly topic: string;
  private readonly latest = new Map<Flow, FlowControl & { partition: number }>();
  private readonly holds: Readonly<Record<Flow, FlowHold>> = {
    'work-orders': new FlowHold(),
    'downtime-reasons': new FlowHold(),
    'machine-states': new FlowHold(),
  };
  /** Next offset by partition. */
  private readonly positions = new Map<number, number>();
  private readonly stopping = new AbortController();
  private following: Promise<void> | undefined;
  private isRead = false;
  private isDown = false;
  private failure: string | null = null;

  constructor(
    @Inject(BRIDGE_SETTINGS) { kafka: { topicPrefix } }: BridgeSettings,
    @Inject(KAFKA) private readonly kafka: KafkaClient,
    private readonly clock: Clock,
  ) {
    this.topic = `${topicPrefix}${INTERNAL_TOPICS.flowControls}`;
  }

  /** Follows the topic, which must exist; later calls have no effect. */
  followControls(): void {
    this.following ??= followTopics(this.kafka, [{ topic: this.topic, from: 'beginning' }], {
      signal: this.stopping.signal,
      onRecords: (records) => this.applyControls(records),
      onState: (state, problem) => {
        this.failure = problem;
        if (state !== 'restoring') this.logChange(state === 'down');
        if (state === 'up') this.markAsRead();
      },
    });
  }

  async onModuleDestroy(): Promise<void> {
    this.stopping.abort(new Error('the bridge is stopping'));
    await withDeadline(this.following, STOP_DEADLINE_MS);
  }

  /** Why no call may begin yet, as text for `/health/ready`; undefined once the controls have been read. */
  get problem(): string | undefined {
    if (this.isRead) return undefined;
    const why = this.failure === null ? '' : `: ${this.failure}`;
    return `calls wait until it is read which flows are paused by hand${why}`;
  }

  holdOf(flow: Flow): FlowHold {
    return this.holds[flow];
  }

  /** The flow's pause; undefined unless it is paused by hand. */
  pauseOf(flow: Flow): FlowControl | undefined {
    const control = this.latest.get(flow);
    return control?.paused === true ? control : undefined;
  }

  /**
   * Pauses the flow in all processes; returns the pause that held before. Such a pause keeps its time.
   *
   * @throws ControlNotTakenError
   */
  async pauseFlow(flow: Flow, reason: string, by: string): Promise<FlowControl | undefined> {
    const before = this.pauseOf(flow);
    const since = before?.since ?? this.clock.nowSeconds();
    await this.writeControl(flow, { paused: true, reason, by, since });
    return before;
  }

  /** Resumes the flow in all processes; returns the pause that ends, if any. @throws ControlNotTakenError */
  async resumeFlow(flow: Flow, by: string | null): Promise<FlowControl | undefined> {
    const before = this.pauseOf(flow);
    const since = this.clock.nowSeconds();
    // Written even if no pause is known here: another process may have paused the flow a moment ago.
    await this.writeControl(flow, { paused: false, reason: null, by, since });
    return before;
  }

  /** The topic's records up to now have been applied: flows that are not paused by hand may make calls. */
  markAsRead(): void {
    if (this.isRead) return;
    this.isRead = true;
    for (const flow of FLOWS) this.holdOrRelease(flow, false);
  }

  /** Logs the start and end of an outage: calls go on by the controls read before, and nothing else would show it. */
  private logChange(isDown: boolean): void {
    const { failure: problem, topic } = this;
    if (isDown === this.isDown) return;
    this.isDown = isDown;
    if (isDown) this.logger.warn({ msg: 'flow controls not read', topic, problem });
    else this.logger.log({ msg: 'flow controls read again', topic });
  }

  private applyControls(records: readonly StoredRecord[]): void {
    const before = new Map<Flow, boolean>();
    for (const { key, value, partition, offset } of records) {
      const flow = FLOWS.find((name) => name === key?.toString());
      const control = value === null ? undefined : parseControl(value);
      if (flow !== undefined) {
        if (!before.has(flow)) before.set(flow, this.pauseOf(flow) !== undefined);
        this.applyControl(flow, partition, control);
      }
      this.positions.set(partition, offset + 1);
    }
    // After all records: when the topic is read again, an earlier control must not resume a paused flow.
    if (this.isRead) for (const [flow, wasPaused] of before) this.holdOrRelease(flow, wasPaused);
  }

  private applyControl(flow: Flow, partition: number, control: FlowControl | undefined): void {
    const { partition: lastOf = partition, since = 0 } = this.latest.get(flow) ?? {};
    if (lastOf !== partition && (control?.since ?? 0) < since) return;
    if (control === undefined) this.latest.delete(flow);
    else this.latest.set(flow, { ...control, partition });
  }

  private holdOrRelease(flow: Flow, wasPaused: boolean): void {
    const { paused = false, reason, by = null, since } = this.latest.get(flow) ?? {};
    if (paused) this.logger.log({ msg: 'flow paused by hand', flow, reason, by, since });
    else if (wasPaused) this.logger.log({ msg: 'flow resumed by hand', flow, by });
    this.holdOf(flow).setHeld(paused);
  }

  /** Returns once Kafka has the control and this process has applied it. */
  private async writeControl(flow: Flow, control: FlowControl): Promise<void> {
    const record = { topic: this.topic, key: flow, value: JSON.stringify(control), headers: {} };
    // A producer of its own: closed at the deadline, it sends nothing more.
    const producer = new IdempotentProducer(this.kafka);
    const cancelDeadline = afterRealMs(WRITE_DEADLINE_MS, () => void producer.closeProducer());
    let place: RecordPlace;
    try {
      place = await producer.sendRecord(record);
    } catch (error) {
      const why =
        error instanceof RecordRefusedError
          ? describeKafkaFailure(error)
          : `no answer within ${WRITE_DEADLINE_MS / 1000} s, and it may take it yet: see GET /api/flows, and the log`;
      throw new ControlNotTakenError(`Kafka has not taken it: ${why}`);
    } finally {
      cancelDeadline();
      void producer.closeProducer();
    }
    await this.awaitReadBack(place);
  }

  private async awaitReadBack({ partition, offset }: RecordPlace): Promise<void> {
    const deadlineMs = realNowMs() + READ_BACK_DEADLINE_MS;
    while ((this.positions.get(partition) ?? 0) <= offset) {
      if (realNowMs() > deadlineMs) {
        const why = this.failure === null ? '' : `: ${this.failure}`;
        throw new ControlNotTakenError(
          `Kafka has taken it, but this process has not read it back within ${READ_BACK_DEADLINE_MS / 1000} s${why}`,
        );
      }
      await realDelayMs(READ_BACK_POLL_MS);
    }
  }
}

function parseControl(value: Buffer): FlowControl | undefined {
  const json = readJson(value);
  if (!json.ok || !isJsonObject(json.value)) return undefined;
  const { paused, reason = null, by = null, since } = json.value;
  if (typeof paused !== 'boolean' || typeof since !== 'number') return undefined;
  if (!isTextOrNull(reason) || !isTextOrNull(by)) return undefined;
  return { paused, reason, by, since };
}

function isTextOrNull(value: unknown): value is string | null {
  return value === null || typeof value === 'string';
}

/** Whether operators let calls of one flow begin; checked before each call. */
export class FlowHold {
  isHeld = true;
  private readonly released: (() => void)[] = [];

  /** Calls `begin` each time the hold is released. */
  onRelease(begin: () => void): void {
    this.released.push(begin);
  }

  setHeld(isHeld: boolean): void {
    const wasHeld = this.isHeld;
    this.isHeld = isHeld;
    if (wasHeld && !isHeld) for (const begin of this.released) begin();
  }
}
