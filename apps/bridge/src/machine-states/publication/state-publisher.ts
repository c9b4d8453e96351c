import { realDelayMs } from '#libs/clock';
import {
  byteLength,
  type OutboundRecord,
  type StateChange,
  type TransactedState,
} from '#libs/kafka';
import type { OutputFrames } from '#libs/schema-registry';
import { type TraceContext, traceHeaders } from '#libs/tracing';
import { cloudEventHeaders, factorySource, SEQUENCE_EXTENSION, TOPICS } from '#libs/contracts';
import type { Derivation } from '../derivation/derive-state-changes.js';
import type { SequencedEvent } from '../derivation/state-events.js';
import { namesOf, stateRecord, type TrackedMachine } from '../derivation/tracked-machine.js';

/** Records that must be committed together. */
interface PublicationStep {
  tracked: TrackedMachine;
  records: readonly OutboundRecord[];
  bytes: number;
}

/** A derivation whose steps are serialised as they are taken: a month of changes would take 0.2 s at once. */
interface Submission {
  steps: Iterator<PublicationStep, undefined>;
  /** Undefined once all are taken. */
  next: PublicationStep | undefined;
  resolve: () => void;
  reject: (error: unknown) => void;
}

/** Bounds how long a transaction lasts, however small its records. */
const MAX_RECORDS = 1000;
/** Half of Kafka's default for a batch: a refused transaction would be derived again unchanged, without end. */
const MAX_TRANSACTION_BYTES = 512 * 1024;
/** Wait before a transaction, which costs as much as a hundred records, so that submissions share one. */
const LINGER_MS = 100;

/** A machine that comes back after a month may have thousands of changes to publish. */
const MAX_EVENTS_PER_STEP = 200;

/** Publishes the derivations of one partition's machines, one transaction after the other. */
export class StatePublisher {
  private readonly waiting: Submission[] = [];
  private isCommitting = false;

  constructor(
    private readonly state: TransactedState<TrackedMachine>,
    private readonly topicPrefix: string,
    private readonly frames?: OutputFrames,
  ) {}

  /**
   * Resolves once events, latest state and tracked machine are committed. @throws when that is uncertain: the
   * partition is then lost, and its next owner derives the events again
   */
  async publishDerivation(derivation: Derivation, trace?: TraceContext): Promise<void> {
    const steps = this.publicationSteps(derivation, trace);
    const next = steps.next().value;
    await new Promise<void>((resolve, reject) => {
      this.waiting.push({ steps, next, resolve, reject });
      if (!this.isCommitting) void this.commitAll();
    });
  }

  private async commitAll(): Promise<void> {
    this.isCommitting = true;
    let wasFull = false;
    while (this.waiting.length > 0) {
      if (!wasFull) await realDelayMs(LINGER_MS);
      try {
        const batch = this.takeBatch();
        const firstOpen = this.waiting.findIndex(({ next }) => next !== undefined);
        wasFull = firstOpen >= 0;
        const done = this.waiting.slice(0, wasFull ? firstOpen : undefined);
        await this.state.commit(
          batch.map(({ tracked }): StateChange<TrackedMachine> => [tracked.machineId, tracked]),
          batch.flatMap(({ records }) => records),
        );
        this.waiting.splice(0, done.length);
        for (const { resolve } of done) resolve();
      } catch (error) {
        for (const { reject } of this.waiting.splice(0)) reject(error);
      }
    }
    this.isCommitting = false;
  }

  /** Takes the steps that fit, at least one: Kafka refuses a step that is too large by itself. */
  private takeBatch(): PublicationStep[] {
    const batch: PublicationStep[] = [];
    let records = 0;
    let bytes = 0;
    for (const submission of this.waiting) {
      for (let { next } = submission; next !== undefined; { next } = submission) {
        records += next.records.length;
        bytes += next.bytes;
        if (batch.length > 0 && (records > MAX_RECORDS || bytes > MAX_TRANSACTION_BYTES))
          return batch;
        batch.push(next);
        submission.next = submission.steps.next().value;
      }
    }
    return batch;
  }

  /**
   * Cuts a derivation into steps small enough for a transaction; an event too large has a step to itself. Each step
   * stores the tracked machine after it, so that a crash between steps neither repeats nor loses an event.
   */
  private *publicationSteps(
    { events, next }: Derivation,
    trace?: TraceContext,
  ): Generator<PublicationStep, undefined> {
    let published = this.state.get(next.machineId);
    const room = MAX_TRANSACTION_BYTES - this.closingRecords(published, next).bytes;
    let records: OutboundRecord[] = [];
    let bytes = 0;
    const step = (tracked: TrackedMachine): PublicationStep => {
      const closing = this.closingRecords(published, tracked);
      const all = [...records, ...closing.records];
      const cut = { tracked, records: all, bytes: bytes + closing.bytes };
      [published, records, bytes] = [tracked, [], 0];
      return cut;
    };
    let latest = next;
    for (const event of events) {
      const record = this.stateEventRecord(event, trace);
      const size = byteLength(record);
      const isFull = records.length === MAX_EVENTS_PER_STEP || bytes + size > room;
      if (isFull && records.length > 0) yield step(latest);
      records.push(record);
      bytes += size;
      latest = event.after;
    }
    yield step(next);
    return undefined;
  }

  /** Last records of a step: the latest state and directory changes. `bytes` include the stored tracked machine. */
  private closingRecords(
    before: TrackedMachine | undefined,
    tracked: TrackedMachine,
  ): { records: readonly OutboundRecord[]; bytes: number } {
    const records = [
      ...this.latestStateRecords(tracked),
      ...this.directoryRecords(before, tracked),
    ];
    const stored = byteLength({ key: tracked.machineId, value: JSON.stringify(tracked) });
    return { records, bytes: records.reduce((sum, record) => sum + byteLength(record), stored) };
  }

  /** Records for `machine.registry.v1` of a new machine or name; tombstones, also for its reasons, of a removed one. */
  private directoryRecords(
    before: TrackedMachine | undefined,
    after: TrackedMachine,
  ): OutboundRecord[] {
    const { machineId } = after;
    if (after.observation === 'removed') {
      const topics = [TOPICS.registry, TOPICS.classificationReasons];
      if (before?.observation === 'removed') return [];
      return topics.map((topic) => this.jsonRecord(topic, machineId, null));
    }
    const names = JSON.stringify(namesOf(after));
    const isListed = before !== undefined && before.observation !== 'removed';
    const isKnown = isListed && JSON.stringify(namesOf(before)) === names;
    return isKnown ? [] : [this.jsonRecord(TOPICS.registry, machineId, names)];
  }

  private stateEventRecord(
    published: SequencedEvent,
    trace: TraceContext | undefined,
  ): OutboundRecord {
    const { id, time, sequence, event } = published;
    const { machineId, factoryId } = event.data;
    const json = JSON.stringify(event.data);
    return {
      topic: `${this.topicPrefix}${TOPICS.stateChanges}`,
      key: machineId,
      value: this.frames?.valueOf(TOPICS.stateChanges, json) ?? json,
      headers: {
        ...cloudEventHeaders({
          id,
          source: factorySource(factoryId),
          type: event.type,
          time,
          subject: machineId,
          extensions: { [SEQUENCE_EXTENSION]: String(sequence) },
        }),
        ...traceHeaders(trace),
      },
    };
  }

  /** The latest state as a record of `machine.states.v1`; none before the machine's first event. */
  private latestStateRecords(tracked: TrackedMachine): OutboundRecord[] {
    if (tracked.sequence === 0) return [];
    const record = stateRecord(tracked);
    const json = record && JSON.stringify(record);
    const value = json && (this.frames?.valueOf(TOPICS.states, json) ?? json);
    return [this.jsonRecord(TOPICS.states, tracked.machineId, value)];
  }

  /** Makes a machine's record of JSON; null makes a tombstone. */
  private jsonRecord(topic: string, key: string, value: OutboundRecord['value']): OutboundRecord {
    const headers: Record<string, string> =
      value === null ? {} : { 'content-type': 'application/json' };
    return { topic: `${this.topicPrefix}${topic}`, key, value, headers };
  }
}
