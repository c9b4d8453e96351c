import { createHash } from 'node:crypto';
import { Inject, Injectable, Logger } from '@nestjs/common';
import { Clock } from '#libs/clock';
import type { ClassificationReason } from '#libs/cloud-client';
import type { BridgeSettings } from '#libs/config';
import { type ClassificationReasonsRecord, TOPICS } from '#libs/contracts';
import { IdempotentProducer, type OutboundRecord } from '#libs/kafka';
import { BoundedMap, BRIDGE_SETTINGS } from '../platform/index.js';
import { Absence } from './look-ups.js';

interface PublishedReasons {
  /** Digest of the list as last published, since lists may be long; undefined before. */
  digest: string | undefined;
  /** Milliseconds of the monotonic clock. */
  readAtMs: number;
  /** Set while an empty list is not accepted yet. */
  emptiness?: Absence;
}

/** Bounded, since messages may name machines that do not exist. */
const MAX_MACHINES = 200_000;

/**
 * Publishes machines' reasons on `machine.classification-reasons.v1` when a read list differs from the published one.
 * The first list that this process reads of a machine is always published: another process may have published the
 * latest.
 */
@Injectable()
export class ReasonRecords {
  private readonly logger = new Logger('ReasonRecords');
  private readonly published = new BoundedMap<string, PublishedReasons>(MAX_MACHINES);
  /** The latest record of each machine to write, while earlier ones are being written. */
  private readonly waiting = new Map<string, ClassificationReasonsRecord>();
  private isPublishing = false;
  private readonly topic: string;

  constructor(
    @Inject(BRIDGE_SETTINGS) private readonly settings: BridgeSettings,
    private readonly clock: Clock,
    private readonly producer: IdempotentProducer,
  ) {
    this.topic = `${settings.kafka.topicPrefix}${TOPICS.classificationReasons}`;
  }

  /** When the machine's reasons were last read, by the monotonic clock; undefined when they were not. */
  readAtMs(machineId: string): number | undefined {
    return this.published.get(machineId)?.readAtMs;
  }

  /** Forgets what was published: another process may publish the machine's next record, or a tombstone. */
  forgetPublished(machineId: string): void {
    this.published.delete(machineId);
    this.waiting.delete(machineId);
  }

  /**
   * Takes a list, null for an unknown machine. An empty one replaces reasons only if that of a later refresh is
   * empty.
   */
  recordReasons(machineId: string, reasons: readonly ClassificationReason[] | null): void {
    const readAtMs = this.clock.monotonicMs();
    const known = this.published.get(machineId);
    const before = known?.digest;
    const listed = reasons?.map(({ name, code }) => ({ name, code }));
    const digest = listed === undefined ? before : digestOf(listed);
    if (digest === EMPTY && before !== undefined && before !== EMPTY) {
      const emptiness = known?.emptiness ?? new Absence(this.settings.reasonsRefreshSeconds);
      if (!emptiness.recordAbsence(readAtMs)) {
        this.published.set(machineId, { digest: before, readAtMs, emptiness });
        return;
      }
    }
    this.published.set(machineId, { digest, readAtMs });
    if (listed === undefined || digest === before) return;
    // Records of many machines share a request: a new process reads the lists of all machines that messages name.
    const updatedAt = this.clock.nowSeconds();
    this.waiting.set(machineId, { machineId, reasons: listed, updatedAt });
    if (!this.isPublishing) void this.publishWaiting();
  }

  private async publishWaiting(): Promise<void> {
    this.isPublishing = true;
    while (this.waiting.size > 0) {
      const headers = { 'content-type': 'application/json' };
      const records = [...this.waiting].map(([key, record]): OutboundRecord => {
        return { topic: this.topic, key, value: JSON.stringify(record), headers };
      });
      this.waiting.clear();
      try {
        for (const [{ key }, refusal] of await this.producer.sendRecords(records)) {
          this.logRefusal(String(key), refusal);
        }
      } catch (closed) {
        for (const { key } of records) this.logRefusal(String(key), closed);
      }
    }
    this.isPublishing = false;
  }

  private logRefusal(machineId: string, error: unknown): void {
    this.published.delete(machineId);
    this.logger.warn({ msg: 'reasons not published', machineId, error: String(error) });
  }
}

function digestOf(reasons: ClassificationReasonsRecord['reasons']): string {
  return createHash('sha256').update(JSON.stringify(reasons)).digest('base64');
}

const EMPTY = digestOf([]);
