import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server } from 'node:net';
import { jest } from '@jest/globals';
import { Logger } from '@nestjs/common';
import { realEpochMs } from '#libs/clock';
import { loadBridgeSettings, readEnvironment } from '#libs/config';
import { deadLetterTopic, TOPICS } from '#libs/contracts';
import { createKafka, ensureTopics, type KafkaClient, type TakenOver } from '#libs/messaging';
import { ToldOutcomes } from './told-outcomes.js';

const DEADLINE_MS = 1000;
/** The client's own time-outs are many times as long. */
const IN_TIME_MS = 5000;
const NOT_YET_KNOWN = 'what was told before is not known yet';
const NOT_ALL_KNOWN =
  'what was told before is not all known: some may be told again, and otherwise';

interface Warning {
  msg: string;
  error: string;
  partitions?: string[];
}

describe('outcomes told before that cannot be read when partitions are taken over', () => {
  const prefix = `test-${randomUUID().slice(0, 8)}.`;
  const topic = `${prefix}${TOPICS.workOrderLists}`;
  const noNote = { finished: undefined, isFinished: () => false, begin: 0, end: 5 };
  const left: TakenOver = { ...noNote, topic, partition: 2, toldUntilMs: realEpochMs() };
  const settled: TakenOver = { ...noNote, topic, partition: 3, toldUntilMs: undefined };
  const brokers = readEnvironment()['KAFKA_BROKERS'] ?? '';
  const never = new AbortController().signal;
  const warnings: Warning[] = [];
  let onWarning: () => void;
  let kafka: KafkaClient;
  let told: ToldOutcomes;

  const readThrough = (address: string): void => {
    const settings = loadBridgeSettings({
      KAFKA_BROKERS: address,
      KAFKA_TOPIC_PREFIX: prefix,
      KAFKA_GROUP_ID: `${prefix}bridge`,
      MACHINE_CLOUD_BASE_URL: 'http://localhost:1',
      MACHINE_CLOUD_TOKEN: 'a-token',
    });
    kafka = createKafka(settings.kafka);
    told = new ToldOutcomes(settings, kafka);
  };

  beforeAll(() => {
    Logger.overrideLogger(false);
    jest.spyOn(Logger.prototype, 'warn').mockImplementation((line: Warning) => {
      // kafkajs has warnings of its own.
      if (!/^(what was told|dead letters)/.test(line.msg)) return;
      warnings.push(line);
      onWarning();
    });
  });

  beforeEach(() => {
    warnings.length = 0;
    onWarning = () => undefined;
  });

  afterAll(() => {
    jest.restoreAllMocks();
  });

  describe('because Kafka says nothing', () => {
    let silent: Server;
    const wakeUp: (() => void)[] = [];

    beforeAll(async () => {
      const [host, port] = brokers.split(',')[0]?.split(':') ?? [];
      silent = createServer((client) => {
        wakeUp.push(() => client.pipe(connect(Number(port), host)).pipe(client));
      }).listen(0, '127.0.0.1');
      await once(silent, 'listening');
      readThrough(`127.0.0.1:${(silent.address() as AddressInfo).port}`);
    });

    afterAll(() => {
      // Answers at last: whatever still waits for one is not left behind.
      for (const answer of wakeUp) answer();
      silent.close();
    });

    it(
      'are given up in time, and the log says of which partitions some may be told again',
      async () => {
        await told.recall([left, settled], never, DEADLINE_MS);
        expect(wakeUp).not.toEqual([]);
        expect(warnings).toEqual([
          { msg: NOT_ALL_KNOWN, partitions: [`${topic}/2`], error: 'Error: not read in 1 s' },
        ]);
      },
      IN_TIME_MS,
    );

    it(
      'are let go of by a bridge that stops, which has nothing to warn of',
      async () => {
        const stopping = new AbortController();
        const recalled = told.recall([left], stopping.signal);
        await once(silent, 'connection');
        stopping.abort(new Error('the bridge is stopping'));
        await recalled;
        expect(warnings).toEqual([]);
      },
      IN_TIME_MS,
    );
  });

  describe('because their topic is not there', () => {
    beforeAll(() => {
      readThrough(brokers);
    });

    it('are asked for again, and at the end the log says what Kafka has answered', async () => {
      // Longer than the client by itself asks for a topic that is not there.
      await told.recall([left], never, 6000);
      expect(warnings.at(0)?.msg).toBe(NOT_YET_KNOWN);
      expect(warnings.at(-1)).toMatchObject({
        msg: NOT_ALL_KNOWN,
        error: expect.stringContaining('This server does not host this topic-partition') as string,
      });
    });

    it('are read all the same once it is', async () => {
      let created: Promise<void> | undefined;
      onWarning = () => {
        const missing = {
          name: `${prefix}${TOPICS.commandOutcomes}`,
          cleanupPolicy: 'delete' as const,
        };
        created ??= ensureTopics(kafka, [missing], { create: true, partitions: 3 });
      };
      await told.recall([left], never);
      await created;
      expect(new Set(warnings.map(({ msg }) => msg))).toEqual(new Set([NOT_YET_KNOWN]));
    });
  });

  describe('because dead letters may not be read', () => {
    const forbidden = Object.assign(new Error('Topic authorization failed'), {
      name: 'KafkaJSProtocolError',
      type: 'TOPIC_AUTHORIZATION_FAILED',
    });

    beforeAll(async () => {
      readThrough(brokers);
      const topics = [TOPICS.commandOutcomes, deadLetterTopic(TOPICS.workOrderLists)].map(
        (name) => ({ name: `${prefix}${name}`, cleanupPolicy: 'delete' as const }),
      );
      await ensureTopics(kafka, topics, { create: true, partitions: 3 });
      const adminOf = kafka.admin.bind(kafka);
      jest.spyOn(kafka, 'admin').mockImplementation(() => {
        const admin = adminOf();
        const fetchOffsets = admin.fetchTopicOffsets.bind(admin);
        admin.fetchTopicOffsets = (name) =>
          name.endsWith('.dlq') ? Promise.reject(forbidden) : fetchOffsets(name);
        return admin;
      });
    });

    it('are read without them, and the log says once what may come of it', async () => {
      await told.recall([left], never);
      await told.recall([left], never);
      expect(warnings).toEqual([
        {
          msg: expect.stringMatching('dead letters may not be read') as string,
          error: String(forbidden),
        },
      ]);
    });
  });
});
