import { deadLetterTopic, TOPICS } from '#libs/contracts';
import type { AppProcess } from '../support/app-process.js';
import { ChaosPlant } from '../support/chaos/chaos-plant.js';
import { eventually } from '../support/eventually.js';
import { header } from '../support/topic-reader.js';

const DEAD_LETTERS = deadLetterTopic(TOPICS.workOrderLists);
/** After it the session has less than the five seconds left for which calls are awaited at most. */
const SILENCE_MS = 5000;
/** The wait takes seven of the session's eight seconds on an idle machine, and ten if it ignores the session. */
const LATEST_MS = 9500;

/**
 * Defects of the Kafka client, for the process alone: the first two produce requests for dead letters fail with a
 * TypeError and a RangeError; after SIGUSR2 no heartbeat of the bridge's group is answered, and the one under way
 * fails in the end. The readers of internal topics have groups, and heartbeats, of their own.
 */
const DEFECTS = `
  import { Module } from 'node:module';
  const passing = [TypeError, RangeError];
  let isSilent = false;
  let lastBeatMs = 0;
  process.on('SIGUSR2', () => { isSilent = true; });
  const { require: original } = Module.prototype;
  Module.prototype.require = function (id) {
    const found = original.call(this, id);
    const { produce, heartbeat } = found?.prototype ?? {};
    if (!id.endsWith('/broker') || produce === undefined || found.isDefective) return found;
    found.isDefective = true;
    found.prototype.produce = async function (request) {
      const isDeadLetter = request.topicData.some(({ topic }) => topic.endsWith('.dlq'));
      const Passing = isDeadLetter ? passing.shift() : undefined;
      if (Passing !== undefined) throw new Passing('of undefined');
      return produce.call(this, request);
    };
    found.prototype.heartbeat = async function (request) {
      if (request.groupId !== process.env.KAFKA_GROUP_ID) return heartbeat.call(this, request);
      if (!isSilent || lastBeatMs === 0) {
        lastBeatMs = Date.now();
        return heartbeat.call(this, request);
      }
      isSilent = false;
      await new Promise((resolve) => setTimeout(resolve, lastBeatMs + ${SILENCE_MS} - Date.now()));
      console.log('last heartbeat ' + lastBeatMs);
      throw new TypeError('of undefined');
    };
    return found;
  };`;

describe('a Kafka client with defects', () => {
  let plant: ChaosPlant;
  let bridge: AppProcess;

  beforeAll(async () => {
    plant = await ChaosPlant.open({
      machines: 3,
      partitions: 1,
      env: {
        NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(DEFECTS)}`,
        MACHINE_CLOUD_TIMEOUT_MS: '60000',
      },
    });
    bridge = plant.startBridge();
    await bridge.ready();
  });

  afterAll(() => plant.close());

  const sendList = (order: string): Promise<void> => plant.kafka.sendList('M-001', [order]);

  it('keeps the value of a dead letter, writes it once, and costs no call', async () => {
    const { kafka } = plant;
    const deadLetters = await kafka.read(DEAD_LETTERS);
    const value = '{"machineId":"M-001","machineId":"M-002","workingOrders":[]}';
    await kafka.send(TOPICS.workOrderLists, { key: 'M-001', value });
    await sendList('behind');
    await plant.sandbox.listBecomes('M-001', ['behind']);
    await kafka.groups.untilAllCommitted(plant.groupId, TOPICS.workOrderLists);
    for (const error of [/(TypeError)/, /(RangeError)/])
      await bridge.untilOutputMatches(error, 'the defect');
    const deadLetter = await deadLetters.find('the dead letter', () => true);
    expect(deadLetter.value?.toString()).toBe(value);
    // The object has this key twice.
    expect(header(deadLetter, 'dlq-code')).toBe('invalid-message');
    expect(header(deadLetter, 'dlq-detail')).toContain('"machineId" is there twice');
    expect(header(deadLetter, 'dlq-value-omitted')).toBeUndefined();
    expect(await kafka.topics.count(DEAD_LETTERS)).toBe(1);
    expect(await kafka.topics.count(TOPICS.commandOutcomes)).toBe(2);
    expect(await plant.sandbox.calls('setWorkOrderList')).toHaveLength(1);
  });

  it('makes a crash wait for a hanging call no longer than the session lasts', async () => {
    await plant.sandbox.addFault({ operation: 'setWorkOrderList', hang: true, count: 1 });
    const since = await plant.sandbox.newestCall();
    await sendList('hanging');
    const calls = (): Promise<number> => plant.sandbox.countCalls('setWorkOrderList', since, 10);
    await eventually('the call is under way', async () => (await calls()) === 1);
    bridge.kill('SIGUSR2');
    const beatMs = await bridge.untilOutputMatches(
      /last heartbeat (\d+)/,
      'the consumer has crashed',
    );
    const cutOffMs = await bridge.untilOutputMatches(
      /"time":(\d+)[^\n]*"msg":"calls cut off/,
      'it has waited',
    );
    expect(Number(cutOffMs) - Number(beatMs)).toBeLessThan(LATEST_MS);
    await bridge.untilOutputMatches(/"msg":"(consumer ended)/, 'another consumer takes its place');
    await plant.sandbox.listBecomes('M-001', ['hanging']);
    expect(await calls()).toBe(2);
  });
});
