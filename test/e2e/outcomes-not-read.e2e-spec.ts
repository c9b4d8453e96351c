import { jest } from '@jest/globals';
import { Logger } from '@nestjs/common';
import { realEpochMs, realNowMs } from '#libs/clock';
import { loadBridgeSettings } from '#libs/config';
import { TOPICS } from '#libs/contracts';
import { createKafka, type TakenOver } from '#libs/messaging';
import { ToldOutcomes } from '../../apps/bridge/src/command-delivery/index.js';
import { eventually } from '../support/eventually.js';
import { testBrokers, TestKafka, type TopicReader, uniqueTopicPrefix } from '../support/kafka.js';
import { KafkaRelay } from '../support/kafka-relay.js';
import { type Plant, startPlant } from '../support/plant.js';
import { toldOf } from '../support/told-of.js';

const NOT_YET_KNOWN = 'what was told before is not known yet';
const NOT_ALL_KNOWN =
  'what was told before is not all known: some may be told again, and otherwise';

interface Warning {
  msg: string;
  error?: string;
  partitions?: string[];
}

describe('outcomes told before that cannot be read', () => {
  const warnings: Warning[] = [];
  const errors: unknown[] = [];
  let relay: KafkaRelay;

  const warned = (): Warning[] => warnings.filter(({ msg }) => msg.startsWith('what was told'));

  beforeAll(async () => {
    Logger.overrideLogger(false);
    jest.spyOn(Logger.prototype, 'warn').mockImplementation((line: Warning) => {
      warnings.push(line);
    });
    jest.spyOn(Logger.prototype, 'error').mockImplementation((line: unknown) => {
      errors.push(line);
    });
    relay = await KafkaRelay.to(testBrokers()[0] ?? '');
  });

  beforeEach(() => {
    warnings.length = 0;
    errors.length = 0;
  });

  afterAll(async () => {
    await relay.close();
    jest.restoreAllMocks();
  });

  describe('when partitions are taken over', () => {
    const prefix = uniqueTopicPrefix();
    const lists = `${prefix}${TOPICS.workOrderLists}`;
    const left: TakenOver = {
      ...{ topic: lists, partition: 2, finished: undefined, end: 5, isFinished: () => false },
      toldUntilMs: realEpochMs(),
    };
    const never = new AbortController().signal;
    const DEADLINE_MS = 1000;
    const kafka = new TestKafka(testBrokers(), prefix);
    let told: ToldOutcomes;

    beforeAll(() => {
      const settings = loadBridgeSettings({
        KAFKA_BROKERS: relay.address,
        KAFKA_TOPIC_PREFIX: prefix,
        KAFKA_GROUP_ID: `${prefix}bridge`,
        MACHINE_CLOUD_BASE_URL: 'http://localhost:1',
        MACHINE_CLOUD_TOKEN: 'a-token',
      });
      told = new ToldOutcomes(settings, createKafka(settings.kafka));
    });

    afterEach(() => {
      relay.release();
    });

    afterAll(() => kafka.close());

    it('are given up in time where Kafka says nothing', async () => {
      relay.holdBack(() => true);
      const startedMs = realNowMs();
      await told.recall([left], never, DEADLINE_MS);
      // The client's own time-outs are many times as long.
      expect(realNowMs() - startedMs).toBeLessThan(DEADLINE_MS + 3000);
      expect(relay.heldBack).toBeGreaterThan(0);
      expect(warned()).toEqual([
        { msg: NOT_ALL_KNOWN, partitions: [`${lists}/2`], error: 'Error: not read in 1 s' },
      ]);
    });

    it('are let go of by a bridge that stops, which has nothing to warn of', async () => {
      relay.holdBack(() => true);
      const stopping = new AbortController();
      const recalled = told.recall([left], stopping.signal);
      await eventually(() => relay.heldBack > 0, { what: 'Kafka has been asked' });
      stopping.abort(new Error('the bridge is stopping'));
      const startedMs = realNowMs();
      await recalled;
      expect(realNowMs() - startedMs).toBeLessThan(3000);
      expect(warned()).toEqual([]);
    });

    it('are asked for again, until the log tells at the end what Kafka has answered', async () => {
      // Longer than the client goes on asking for a topic that is not there.
      await told.recall([left], never, 6000);
      expect(warned().at(0)?.msg).toBe(NOT_YET_KNOWN);
      expect(warned().at(-1)).toMatchObject({
        msg: NOT_ALL_KNOWN,
        error: expect.stringContaining('This server does not host this topic-partition') as string,
      });
    });

    it('are read all the same once they can be', async () => {
      const recalled = told.recall([left], never);
      await eventually(() => warned().length > 0, { what: 'the first try has failed' });
      await kafka.createTopics(3, TOPICS.commandOutcomes);
      await recalled;
      expect(new Set(warned().map(({ msg }) => msg))).toEqual(new Set([NOT_YET_KNOWN]));
    });
  });

  describe('of a machine whose messages are delivered again', () => {
    const GIVE_UP_MS = 2000;
    let plant: Plant;
    let outcomes: TopicReader;

    const send = (messageId: string): Promise<void> => {
      const list = { machineId: 'M-001', workingOrders: [messageId] };
      return plant.kafka.sendJson(TOPICS.workOrderLists, 'M-001', list, {
        'message-id': messageId,
      });
    };

    const readers = (): string => `${plant.groupId}-read-`;

    const untilCommitted = (count: number): Promise<unknown> =>
      eventually(
        async () => (await plant.kafka.committed(plant.groupId, TOPICS.workOrderLists)) === count,
        { what: `${count} are committed` },
      );

    beforeAll(async () => {
      const recall = Reflect.get(ToldOutcomes.prototype, 'recall');
      jest.spyOn(ToldOutcomes.prototype, 'recall').mockImplementation(function (
        this: ToldOutcomes,
        partitions,
        stopping,
      ) {
        return recall.call(this, partitions, stopping, GIVE_UP_MS);
      });
      plant = await startPlant({ brokers: [relay.address] });
      outcomes = await plant.kafka.read(TOPICS.commandOutcomes);
    });

    afterAll(async () => {
      relay.release();
      await plant.close();
    });

    /** As if a bridge had died before it could commit what it has told of. */
    const takeOverWith = async (messageId: string): Promise<void> => {
      await plant.bridge.close();
      await plant.kafka.forgetCommits(plant.groupId);
      await send(messageId);
      await plant.restartBridge();
      await plant.sandbox.listBecomes('M-001', [messageId]);
      await eventually(() => toldOf(outcomes)[messageId], { what: `${messageId} is told` });
    };

    it('hold nothing up: the next list is set, and what was told before is told again', async () => {
      await send('one');
      await eventually(() => toldOf(outcomes)['one'], { what: 'one is told' });
      // Nothing but the reading of outcomes has a group of its own.
      relay.holdBack((request) => request.includes(readers()));
      await takeOverWith('two');
      await untilCommitted(2);
      expect(relay.heldBack).toBeGreaterThan(0);
      expect(warned()).toMatchObject([{ msg: NOT_ALL_KNOWN }]);
      expect(toldOf(outcomes)).toEqual({
        one: ['M-001 applied', 'M-001 superseded'],
        two: ['M-001 applied'],
      });
      expect(errors).toEqual([]);
    });

    it('are known to the next owner, who can read them', async () => {
      relay.release();
      await takeOverWith('three');
      await untilCommitted(3);
      expect(toldOf(outcomes)).toEqual({
        one: ['M-001 applied', 'M-001 superseded'],
        two: ['M-001 applied'],
        three: ['M-001 applied'],
      });
      expect([...warned(), ...errors]).toEqual([]);
      await eventually(
        async () => !(await plant.kafka.groups()).some((name) => name.startsWith(readers())),
        { what: 'no group of a read is left' },
      );
    });
  });
});
