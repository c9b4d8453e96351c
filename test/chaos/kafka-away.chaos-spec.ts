import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { TOPICS } from '#libs/contracts';
import { findJavaWay, type LocalKafka, startLocalKafka } from '../../tools/kafka/local-kafka.mjs';
import { Answers } from '../support/chaos/answers.js';
import { ChaosPlant } from '../support/chaos/chaos-plant.js';
import { deliveriesOf } from '../support/chaos/deliveries.js';
import {
  atMostRepeats,
  disorder,
  lostReasons,
  staleLists,
} from '../support/chaos/delivery-faults.js';
import { untilReady, untilUnready } from '../support/chaos/health.js';
import { overlaps } from '../support/chaos/overlaps.js';
import { untilAllMove } from '../support/chaos/until-called.js';
import { type LoggedCall } from '../support/sandbox-control.js';

const ENDS = ['stop', 'kill'] as const;
const describeWithJava = (await findJavaWay()) === undefined ? describe.skip : describe;

describeWithJava('a Kafka that is stopped and killed while commands stream through', () => {
  let folder: string;
  let broker: LocalKafka;
  let plant: ChaosPlant;
  let answers: Answers;
  let calls: LoggedCall[];

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'kafka-away-'));
    broker = await startLocalKafka({ dir: folder });
    plant = await ChaosPlant.open({ brokers: [broker.brokers] });
    const { load, sandbox, kafka } = plant;
    await sandbox.addFault({ operation: '*', latencyMs: 100 });
    const url = await plant.startBridge().ready();
    load.start({ perSecond: 60 });
    await untilAllMove(plant);
    for (const end of ENDS) {
      await broker[end]();
      await untilUnready(url, 'kafka');
      await broker.restart();
      await untilReady(url);
      await untilAllMove(plant);
    }
    await load.stop();
    answers = new Answers(await kafka.read(TOPICS.commandOutcomes));
    await answers.untilAll(load.messageIds, 60_000);
    calls = await sandbox.allCalls();
  }, 300_000);

  afterAll(async () => {
    await plant.close();
    await broker.kill();
    await rm(folder, { recursive: true, force: true });
  }, 60_000);

  it('costs no reason and no order', () => {
    const reasons = deliveriesOf('reason', calls);
    expect(lostReasons(plant.load.sent('reason'), reasons)).toEqual([]);
    expect(disorder('reason', reasons, atMostRepeats(ENDS.length))).toEqual([]);
  });

  it('leaves every machine with the list that was sent last', () => {
    const lists = deliveriesOf('list', calls);
    expect(staleLists(plant.load.sent('list'), lists)).toEqual([]);
    expect(disorder('list', lists, atMostRepeats(ENDS.length))).toEqual([]);
  });

  it('never makes the bridge have two calls under way for one machine and operation', () => {
    expect(overlaps(calls)).toEqual([]);
  });

  it('leaves no message without a final outcome, and sets none aside', async () => {
    expect(answers.unanswered(plant.load.messageIds)).toEqual([]);
    const letters = [`${TOPICS.workOrderLists}.dlq`, `${TOPICS.downtimeReasons}.dlq`];
    expect((await plant.kafka.read(...letters)).records).toEqual([]);
  });
});
