import { Inject, Injectable, Logger } from '@nestjs/common';
import { Clock } from '#libs/clock';
import { type ClassificationReason } from '#libs/cloud-client';
import { type BridgeSettings } from '#libs/config';
import { type ClassificationReasonsRecord, TOPICS } from '#libs/contracts';
import { Outbox } from '#libs/messaging';
import { BRIDGE_SETTINGS } from '../platform/index.js';
import { ReasonLists } from './reason-lists.js';

interface Told {
  /** The list as it was last published; undefined before. */
  reasons: string | undefined;
  /** Epoch seconds. */
  readAt: number;
}

/**
 * Publishes machines' reasons on `machine.classification-reasons.v1` whenever they have been read and are
 * others than before. What this process has not read yet it publishes once, changed or not.
 */
@Injectable()
export class ReasonRecords {
  private readonly logger = new Logger('ReasonRecords');
  private readonly told = new Map<string, Told>();
  private readonly topic: string;

  constructor(
    @Inject(BRIDGE_SETTINGS) settings: BridgeSettings,
    private readonly clock: Clock,
    private readonly outbox: Outbox,
    lists: ReasonLists,
  ) {
    lists.onRead((machineId, reasons) => {
      this.read(machineId, reasons);
    });
    this.topic = `${settings.kafka.topicPrefix}${TOPICS.classificationReasons}`;
  }

  /** When the machine's reasons were last read, in epoch seconds; undefined when they were not. */
  readAt(machineId: string): number | undefined {
    return this.told.get(machineId)?.readAt;
  }

  /** None is an answer too; only of a machine that is not known there is nothing to be told. */
  private read(machineId: string, reasons: readonly ClassificationReason[] | null): void {
    const updatedAt = this.clock.nowSeconds();
    const before = this.told.get(machineId)?.reasons;
    const listed = reasons?.map(({ name, code }) => ({ name, code }));
    const now = listed === undefined ? before : JSON.stringify(listed);
    this.told.set(machineId, { reasons: now, readAt: updatedAt });
    if (listed !== undefined && now !== before) {
      this.publish({ machineId, reasons: listed, updatedAt });
    }
  }

  private publish(record: ClassificationReasonsRecord): void {
    const { machineId } = record;
    const value = JSON.stringify(record);
    const headers = { 'content-type': 'application/json' };
    this.outbox
      .send({ topic: this.topic, key: machineId, value, headers })
      .catch((error: unknown) => {
        this.told.delete(machineId);
        this.logger.warn({ msg: 'reasons not published', machineId, error: String(error) });
      });
  }
}
