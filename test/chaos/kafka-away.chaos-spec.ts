import { TOPICS } from '#libs/contracts';
import { type LocalKafka, startLocalKafka } from '../../tools/kafka/local-kafka.mjs';
import { Answers } from '../support/chaos/answers.js';
import { ChaosPlant } from '../support/chaos/chaos-plant.js';
import { deliveryFaults } from '../support/chaos/delivery.js';
import { atMostRepeats, type MayRepeat } from '../support/chaos/delivery-faults.js';
import { untilReady, untilUnready } from '../support/health.js';
import { overlaps } from '../support/chaos/overlaps.js';
import { untilAllMove } from '../support/chaos/until-called.js';
import type { LoggedCall } from '../support/sandbox-control.js';
import { temporaryFolder } from '../../libs/config/test/temporary-files.js';

const ENDS = ['stop', 'kill'] as const;

/** The bridge's answer to a request to pause a flow. */
async function pauseOf(url: string): Promise<unknown> {
  const response = await fetch(`${url}/api/flows/downtime-reasons/pause`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ reason: 'an audit', by: 'Ada' }),
  });
  return response.json();
}

describe('a Kafka that is stopped and killed under a stream of commands', () => {
  let broker: LocalKafka;
  let plant: ChaosPlant;
  let answers: Answers;
  let calls: LoggedCall[];

  beforeAll(async () => {
    broker = await startLocalKafka({ dir: temporaryFolder() });
    plant = await ChaosPlant.open({ brokers: [broker.brokers] });
    const { load, sandbox, kafka } = plant;
    await sandbox.addFault({ operation: '*', latencyMs: 100 });
    const url = await plant.startBridge().ready();
    load.start({ perSecond: 60 });
    await untilAllMove(plant);
    for (const end of ENDS) {
      await broker[end]();
      await untilUnready(url, 'kafka');
      expect((await fetch(`${url}/health/live`)).status).toBe(200);
      expect(await pauseOf(url)).toMatchObject({
        statusCode: 503,
        message: expect.stringContaining('Kafka has not taken it') as string,
      });
      await broker.restart();
      await untilReady(url);
      await untilAllMove(plant);
    }
    await load.stop();
    answers = new Answers(await kafka.read(TOPICS.commandOutcomes));
    await answers.untilAll(load.messageIds);
    calls = await sandbox.allCalls();
  });

  afterAll(async () => {
    await plant.close();
    await broker.kill();
  });

  it('costs no command and no order', () => {
    const mayRepeat = (): MayRepeat => atMostRepeats(ENDS.length);
    expect(deliveryFaults(plant.load, calls, { mayRepeat })).toEqual([]);
  });

  it('never makes the bridge run two calls for one machine and operation at once', () => {
    expect(overlaps(calls)).toEqual([]);
  });

  it('leaves no message without a final outcome, and causes no dead letter', async () => {
    expect(answers.unanswered(plant.load.messageIds)).toEqual([]);
    expect(await plant.countDeadLetters()).toBe(0);
  });
});
