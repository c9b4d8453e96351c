import { TOPICS } from '#libs/contracts';
import { Answers } from '../support/chaos/answers.js';
import { faultsButForOne } from '../support/chaos/but-for-one.js';
import { ChaosPlant } from '../support/chaos/chaos-plant.js';
import { numberOfList } from '../support/chaos/commands.js';
import { deliveriesOf } from '../support/chaos/deliveries.js';
import {
  atMostRepeats,
  disorder,
  lostReasons,
  type MayRepeat,
  sameAgain,
  staleLists,
} from '../support/chaos/delivery-faults.js';
import { overlaps } from '../support/chaos/overlaps.js';
import { untilAllMove, untilCalled } from '../support/chaos/until-called.js';
import type { LoggedCall } from '../support/sandbox-control.js';

const SLOW = { operation: '*', rate: 0.1, latencyMs: 1500 };
/** How often the test redistributes the partitions. */
const REBALANCES = 7;

describe('several bridges in one group, under load with slow calls', () => {
  let plant: ChaosPlant;
  let answers: Answers;
  let calls: LoggedCall[];
  /** For each process that ended without leaving the group, the last call's sequence number before the takeover. */
  const takeovers: number[] = [];
  /** Sequence number of the last call before the suspended process was resumed. */
  let beforeWaking: number;

  /** Waits until the group is stable and the new owner of each machine makes calls for it. */
  const settled = async (processes: number): Promise<void> => {
    await plant.untilShared(processes);
    await untilAllMove(plant);
  };

  /**
   * After these answers all calls of the silent process have been read. The test waits for no call: others take over
   * seconds later, however busy the machine is.
   */
  const noteTakeover = async (): Promise<void> => {
    for (let answers = 1; answers < 30; answers += 1) await plant.sandbox.newestCall();
    takeovers.push(await plant.sandbox.newestCall());
  };

  beforeAll(async () => {
    plant = await ChaosPlant.open();
    await plant.sandbox.addFault(SLOW);
    plant.load.start({ perSecond: 90 });
    plant.startBridge();
    await untilCalled(plant, 'reason', { times: 100 });

    const second = plant.startBridge();
    await settled(2);
    const third = plant.startBridge();
    await settled(3);

    second.kill('SIGKILL');
    await second.exitCode();
    await noteTakeover();
    await settled(2);
    third.kill('SIGTERM');
    expect(await third.exitCode()).toBe(0);
    await settled(1);

    const sleeper = plant.startBridge();
    await settled(2);
    sleeper.kill('SIGSTOP');
    await noteTakeover();
    await settled(1);
    await settled(1);
    beforeWaking = await plant.sandbox.newestCall();
    sleeper.kill('SIGCONT');
    await settled(2);

    await plant.load.stop();
    answers = new Answers(await plant.kafka.read(TOPICS.commandOutcomes));
    await answers.untilAll(plant.load.messageIds);
    calls = await plant.sandbox.allCalls();
  });

  afterAll(() => plant.close());

  it('never run two calls for one machine and operation at once', () => {
    expect(faultsButForOne(calls, beforeWaking, overlaps)).toEqual([]);
  });

  it('lose no reason, and keep the order of the reasons of each machine', () => {
    const reasons = deliveriesOf('reason', calls, takeovers);
    expect(lostReasons(plant.load.sent('reason'), reasons)).toEqual([]);
    expect(disorder('reason', reasons, atMostRepeats(REBALANCES))).toEqual([]);
  });

  it('never replace a newer list by an older one, except lists that a killed process had not committed', () => {
    const harmless: MayRepeat = (machineId, before, after) =>
      sameAgain(machineId, before, after) || after.life > before.life;
    const staleAgain = (made: readonly LoggedCall[]): string[] =>
      disorder('list', deliveriesOf('list', made, takeovers), harmless);
    expect(faultsButForOne(calls, beforeWaking, staleAgain)).toEqual([]);
  });

  it('leave every machine with its latest list', async () => {
    const sent = plant.load.sent('list');
    expect(staleLists(sent, deliveriesOf('list', calls, takeovers))).toEqual([]);
    for (const { machineId, workingOrders } of await plant.sandbox.machines()) {
      expect(numberOfList(workingOrders)).toBe((sent.get(machineId) ?? 0) - 1);
    }
  });

  it('give each message a final outcome and write no dead letter', async () => {
    expect(answers.unanswered(plant.load.messageIds)).toEqual([]);
    expect(await plant.countDeadLetters()).toBe(0);
  });
});
