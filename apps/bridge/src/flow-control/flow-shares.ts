import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { Inject, Injectable, Logger, type OnModuleDestroy } from '@nestjs/common';
import { everyRealMs, realEpochMs, realNowMs, withDeadline } from '#libs/clock';
import type { BridgeSettings } from '#libs/config';
import {
  type Flow,
  type FlowShare,
  INTERNAL_TOPICS,
  isJsonObject,
  readJson,
} from '#libs/contracts';
import { followTopics, IdempotentProducer, type KafkaClient, type StoredRecord } from '#libs/kafka';
import { BRIDGE_SETTINGS, KAFKA } from '../platform/index.js';

/**
 * Value of `machine-bridge.flow-shares.v1`, compacted: the state of each flow in one process.
 *
 * - Key: id of the process. Value: this, as JSON. No headers.
 * - Written by that process, every five seconds; read by every process, to answer for the group.
 * - Tombstone: the process has stopped. A killed process writes none: its share is ignored after 15 seconds.
 */
export type FlowShares = Partial<Record<Flow, FlowShare>>;

export interface ProcessShares {
  /** Host name and a random part. */
  process: string;
  flows: FlowShares;
}

const INTERVAL_MS = 5000;
/** How long a share counts after its receipt: longer than two lost in a row. */
const FRESH_MS = 3 * INTERVAL_MS;
/** Records read of each partition at the start; older shares are stale anyway. */
const MAX_RECORDS_AT_START = 1000;
const STOP_DEADLINE_MS = 1000;

/** The flows' state in each process of the group, for operators: without the topic a process knows only its own. */
@Injectable()
export class GroupShares implements OnModuleDestroy {
  /** The random part tells processes of one host apart: in a container every process has the same process id. */
  private readonly process = `${hostname()}-${randomUUID().slice(0, 8)}`;
  private readonly logger = new Logger('GroupShares');
  private readonly topic: string;
  private readonly latest = new Map<string, { flows: FlowShares; receivedMs: number }>();
  private readonly producer: IdempotentProducer;
  private readonly stopping = new AbortController();
  private following: Promise<void> | undefined;
  private stopWriting: (() => void) | undefined;
  private isWriting = false;
  private ownShares: () => FlowShares = () => ({});

  constructor(
    @Inject(BRIDGE_SETTINGS) { kafka: { topicPrefix } }: BridgeSettings,
    @Inject(KAFKA) private readonly kafka: KafkaClient,
  ) {
    this.topic = `${topicPrefix}${INTERNAL_TOPICS.flowShares}`;
    this.producer = new IdempotentProducer(kafka);
  }

  /** @param ownShares called every five seconds and for each answer */
  setOwnShares(ownShares: () => FlowShares): void {
    this.ownShares = ownShares;
  }

  /** Reads and writes the topic, which must exist; later calls have no effect. */
  followShares(): void {
    if (this.following !== undefined) return;
    const from = { sinceMs: realEpochMs() - FRESH_MS, maxPerPartition: MAX_RECORDS_AT_START };
    this.following = followTopics(this.kafka, [{ topic: this.topic, from }], {
      signal: this.stopping.signal,
      onRecords: (records) => this.applyShares(records),
      onState: (state, problem) => {
        if (state === 'down') this.logger.debug({ msg: 'flow shares not read', problem });
      },
    });
    this.writeOwnShares();
    this.stopWriting = everyRealMs(INTERVAL_MS, () => this.writeOwnShares());
  }

  async onModuleDestroy(): Promise<void> {
    this.stopWriting?.();
    this.stopping.abort(new Error('the bridge is stopping'));
    await withDeadline(this.writeTombstone(), STOP_DEADLINE_MS);
    void this.producer.closeProducer();
  }

  /** The current share of this process, and the last reported shares of the others. */
  sharesByProcess(): ProcessShares[] {
    this.dropStale();
    const others = [...this.latest].filter(([process]) => process !== this.process);
    return [
      { process: this.process, flows: this.ownShares() },
      ...others.map(([process, { flows }]) => ({ process, flows })),
    ];
  }

  private async writeTombstone(): Promise<void> {
    if (this.following === undefined) return;
    const { topic } = this;
    const tombstone = { topic, key: this.process, value: null, headers: {} };
    await Promise.all([this.producer.sendRecord(tombstone).catch(() => undefined), this.following]);
  }

  /** One write at a time: while Kafka takes none, the next would be outdated as well. */
  private writeOwnShares(): void {
    if (this.isWriting) return;
    this.isWriting = true;
    const value = JSON.stringify(this.ownShares());
    this.producer
      .sendRecord({ topic: this.topic, key: this.process, value, headers: {} })
      .catch((error: unknown) => {
        if (!this.stopping.signal.aborted) {
          this.logger.warn({ msg: 'flow shares not written', error: String(error) });
        }
      })
      .finally(() => {
        this.isWriting = false;
      });
  }

  private applyShares(records: readonly StoredRecord[]): void {
    const receivedMs = realNowMs();
    for (const { key, value } of records) {
      const process = key?.toString() ?? '';
      const flows = value === null ? undefined : parseShares(value);
      if (flows === undefined) this.latest.delete(process);
      else this.latest.set(process, { flows, receivedMs });
    }
    this.dropStale();
  }

  private dropStale(): void {
    const staleMs = realNowMs() - FRESH_MS;
    for (const [process, { receivedMs }] of this.latest) {
      if (receivedMs < staleMs) this.latest.delete(process);
    }
  }
}

/** Undefined unless the value has the form that this version writes: versions may run side by side for a while. */
function parseShares(value: Buffer): FlowShares | undefined {
  const json = readJson(value);
  if (!json.ok || !isJsonObject(json.value)) return undefined;
  const shares = Object.values(json.value);
  return shares.every(isShare) ? json.value : undefined;
}

function isShare(share: unknown): share is FlowShare {
  return (
    isJsonObject(share) &&
    typeof share['state'] === 'string' &&
    typeof share['waiting'] === 'number' &&
    typeof share['oldestWaitingSeconds'] === 'number' &&
    isJsonObject(share['partitions']) &&
    share['lastError'] !== undefined
  );
}
