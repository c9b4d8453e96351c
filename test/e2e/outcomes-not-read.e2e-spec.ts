import { jest } from '@jest/globals';
import { Logger } from '@nestjs/common';
import { TOPICS } from '#libs/contracts';
import { eventually } from '../support/eventually.js';
import { testBrokers } from '../support/kafka.js';
import { KafkaRelay } from '../support/kafka-relay.js';
import { type Plant, startPlant } from '../support/plant.js';
import { toldOf } from '../support/told-of.js';
import { type TopicReader } from '../support/topic-reader.js';

describe('outcomes told before that cannot be read when their messages are delivered again', () => {
  const warnings: unknown[] = [];
  const errors: unknown[] = [];
  let relay: KafkaRelay;
  let plant: Plant;
  let outcomes: TopicReader;

  /** What the groups begin with by which the bridge reads what was told, and nothing else here. */
  const readers = (): string => `${plant.groupId}-read-`;

  const send = (messageId: string): Promise<void> => {
    const list = { machineId: 'M-001', workingOrders: [messageId] };
    const headers = { 'message-id': messageId };
    return plant.kafka.sendJson(TOPICS.workOrderLists, 'M-001', list, headers);
  };

  /** As if a bridge had died before it could commit what it has told of. */
  const takeOverWith = async (messageId: string): Promise<void> => {
    await plant.bridge.close();
    await plant.kafka.groups.forgetCommits(plant.groupId);
    await send(messageId);
    await plant.restartBridge();
    await plant.sandbox.listBecomes('M-001', [messageId]);
    await eventually(() => toldOf(outcomes)[messageId], { what: `${messageId} is told` });
  };

  const untilCommitted = (count: number): Promise<unknown> =>
    eventually(
      async () =>
        (await plant.kafka.groups.committed(plant.groupId, TOPICS.workOrderLists)) === count,
      { what: `${count} are committed` },
    );

  beforeAll(async () => {
    jest.spyOn(Logger.prototype, 'warn').mockImplementation((line: { msg: string }) => {
      if (line.msg.startsWith('what was told before')) warnings.push(line);
    });
    jest.spyOn(Logger.prototype, 'error').mockImplementation((line: unknown) => {
      errors.push(line);
    });
    relay = await KafkaRelay.to(testBrokers()[0] ?? '');
    plant = await startPlant({ brokers: [relay.address] });
    outcomes = await plant.kafka.read(TOPICS.commandOutcomes);
  });

  afterAll(async () => {
    relay.release();
    await plant.close();
    await relay.close();
    jest.restoreAllMocks();
  });

  it('hold nothing up for longer than 30 s, are told again, and the log says so', async () => {
    await send('one');
    await eventually(() => toldOf(outcomes)['one'], { what: 'one is told' });
    relay.holdBack((request) => request.includes(readers()));
    await takeOverWith('two');
    await untilCommitted(2);
    expect(relay.heldBack).toBeGreaterThan(0);
    expect(warnings.at(-1)).toMatchObject({
      msg: 'what was told before is not all known: some may be told again, and otherwise',
      partitions: [expect.stringContaining(TOPICS.workOrderLists)],
    });
    expect(toldOf(outcomes)).toEqual({
      one: ['M-001 applied', 'M-001 superseded'],
      two: ['M-001 applied'],
    });
    expect(errors).toEqual([]);
  });

  it('are known to the next owner, who can read them', async () => {
    relay.release();
    warnings.length = 0;
    await takeOverWith('three');
    await untilCommitted(3);
    expect(toldOf(outcomes)).toEqual({
      one: ['M-001 applied', 'M-001 superseded'],
      two: ['M-001 applied'],
      three: ['M-001 applied'],
    });
    expect([...warnings, ...errors]).toEqual([]);
    await eventually(
      async () => !(await plant.kafka.groups.names()).some((name) => name.startsWith(readers())),
      { what: 'no group of a reader is left' },
    );
  });
});
