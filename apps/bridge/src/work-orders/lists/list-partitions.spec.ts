import { ManualClock } from '#libs/clock';
import { Logger } from '@nestjs/common';
import { loadBridgeSettings } from '#libs/config';
import { type KafkaClient, partitionOf } from '#libs/messaging';
import { emptyState } from '../testing/empty-state.js';
import { ListFences } from './list-fences.js';
import { ListPartitions } from './list-partitions.js';

const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

const machineIn = (partition: number, count: number): string => {
  const machineIds = Array.from({ length: 100 }, (_, number) => `M-${number}`);
  const found = machineIds.find((machineId) => partitionOf(machineId, count) === partition);
  if (found === undefined) throw new Error('no such machine');
  return found;
};

describe('the partition that lists of a machine come through', () => {
  const settings = loadBridgeSettings({
    KAFKA_BROKERS: 'localhost:1',
    KAFKA_TOPIC_PREFIX: 'a.',
    MACHINE_CLOUD_BASE_URL: 'http://localhost:1',
    MACHINE_CLOUD_TOKEN: 'a-token',
  });
  const lists = 'a.erp.work-order-lists.v1';
  Logger.overrideLogger(false);
  let count: number;
  let isAway: boolean;
  let losing: AbortController;
  let partitions: ListPartitions;

  beforeEach(async () => {
    [count, isAway, losing] = [2, false, new AbortController()];
    const admin = {
      connect: () => (isAway ? Promise.reject(new Error('away')) : Promise.resolve()),
      fetchTopicMetadata: ({ topics: [name] }: { topics: string[] }) =>
        Promise.resolve({ topics: [{ name, partitions: Array(name === lists ? count : 0) }] }),
      disconnect: () => Promise.resolve(),
    };
    const fences = new ListFences(settings, new ManualClock());
    partitions = new ListPartitions(
      settings,
      { admin: () => admin } as unknown as KafkaClient,
      fences,
    );
    fences.own(emptyState(0, losing.signal));
    partitions.assignedAnew();
    await nextTurn();
  });

  it('is this process’s alone until it is lost', () => {
    const machineId = machineIn(0, 2);
    expect(partitions.soleSetterUntil(machineId)).toBe(losing.signal);
    losing.abort();
    expect(partitions.soleSetterUntil(machineId)).toBeUndefined();
  });

  it('is another process’s where that has it', () => {
    expect(partitions.soleSetterUntil(machineIn(1, 2))).toBeUndefined();
  });

  it('may be another one when the topic has grown', async () => {
    const machineIds = Array.from({ length: 100 }, (_, number) => `M-${number}`);
    const moved = machineIds.find((id) => partitionOf(id, 2) === 0 && partitionOf(id, 3) !== 0);
    expect(partitions.soleSetterUntil(moved ?? '')).toBe(losing.signal);
    count = 3;
    partitions.assignedAnew();
    expect(partitions.soleSetterUntil(moved ?? '')).toBeUndefined();
    await nextTurn();
    expect(partitions.soleSetterUntil(moved ?? '')).toBeUndefined();
    expect(partitions.soleSetterUntil(machineIn(0, 3))).toBe(losing.signal);
  });

  it('is not known while Kafka does not tell, and asked for again by whoever needs it', async () => {
    isAway = true;
    partitions.assignedAnew();
    await nextTurn();
    isAway = false;
    const machineId = machineIn(0, 2);
    expect(partitions.soleSetterUntil(machineId)).toBeUndefined();
    await nextTurn();
    expect(partitions.soleSetterUntil(machineId)).toBe(losing.signal);
  });
});
