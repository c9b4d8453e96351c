import { TOPICS } from '#libs/contracts';
import { Answers } from './answers.js';
import { ChaosPlant, countRejoins } from './chaos-plant.js';
import { committedBy, type CommittedOffsets, firstUncommitted } from './committed.js';
import { type CommandKind, numberOfList } from './commands.js';
import { type Deliveries, deliveriesOf } from './deliveries.js';
import { disorder, fromCommitted, lostReasons, staleLists } from './delivery-faults.js';
import { overlaps } from './overlaps.js';
import { untilCalled } from './until-called.js';
import type { AppProcess } from '../app-process.js';
import { eventually } from '../eventually.js';
import type { LoggedCall } from '../sandbox-control.js';
import type { ReadRecord } from '../topic-reader.js';

const LATENCY_MS = 60;

interface Kills {
  /**
   * Number of groups that run at once: the coordinator takes 8 s to miss a killed process, so several groups take
   * little longer than one.
   */
  groups: number;
  /** How many reasons the nth process of a group may call for before it is killed. */
  callsBeforeKill: readonly number[];
}

interface Aftermath {
  plant: ChaosPlant;
  answers: Answers;
  calls: LoggedCall[];
  /** Sequence number of the last call of each process that was killed. */
  takeovers: number[];
  /** The committed offsets at each kill. */
  committed: CommittedOffsets[];
  /** Whether each process has lost its membership of the group while it ran. */
  rejoined: boolean[];
  inputs: readonly ReadRecord[];
}

async function killUnderLoad(
  plant: ChaosPlant,
  callsBeforeKill: readonly number[],
): Promise<Aftermath> {
  const { sandbox, load, kafka } = plant;
  await sandbox.addFault({ operation: '*', latencyMs: LATENCY_MS });
  load.start({ perSecond: 30 });
  const takeovers: number[] = [];
  const committed: CommittedOffsets[] = [];
  const bridges: AppProcess[] = [];
  let bridge = plant.startBridge();
  for (const times of callsBeforeKill) {
    await untilCalled(plant, 'reason', { times, since: takeovers.at(-1) ?? 0 });
    bridge.kill('SIGKILL');
    await bridge.exitCode();
    bridges.push(bridge);
    committed.push(await committedBy(plant));
    // the calls of the killed process have arrived, and the next process has made none yet
    takeovers.push(await sandbox.newestCallOfEnded());
    bridge = plant.startBridge();
  }
  await bridge.ready();
  await load.stop();
  const answers = new Answers(await kafka.read(TOPICS.commandOutcomes));
  await answers.untilAll(load.messageIds);
  const inputs = await kafka.read(TOPICS.workOrderLists, TOPICS.downtimeReasons);
  const { records } = inputs;
  await eventually('all input is read', () => records.length === load.messageIds.length);
  const calls = await sandbox.allCalls();
  const rejoined = [...bridges, bridge].map((process) => countRejoins(process) > 0);
  return { plant, answers, calls, takeovers, committed, rejoined, inputs: records };
}

/** Describes tests of bridges that are killed repeatedly under load. */
export function describeKills(name: string, { groups, callsBeforeKill }: Kills): void {
  describe(name, () => {
    const plants: ChaosPlant[] = [];
    let aftermaths: Aftermath[];

    beforeAll(async () => {
      for (let group = 1; group <= groups; group += 1) plants.push(await ChaosPlant.open());
      aftermaths = await Promise.all(plants.map((plant) => killUnderLoad(plant, callsBeforeKill)));
    });

    afterAll(() => Promise.all(plants.map((plant) => plant.close())));

    const carriedOut = ({ calls, takeovers }: Aftermath, kind: CommandKind): Deliveries =>
      deliveriesOf(kind, calls, takeovers);

    it('loses no reason', () => {
      for (const aftermath of aftermaths) {
        const sent = aftermath.plant.load.sent('reason');
        expect(lostReasons(sent, carriedOut(aftermath, 'reason'))).toEqual([]);
      }
    });

    it('leaves every machine with the list that was sent last', async () => {
      for (const aftermath of aftermaths) {
        const sent = aftermath.plant.load.sent('list');
        expect(staleLists(sent, carriedOut(aftermath, 'list'))).toEqual([]);
        for (const { machineId, workingOrders } of await aftermath.plant.sandbox.machines()) {
          expect(numberOfList(workingOrders)).toBe((sent.get(machineId) ?? 0) - 1);
        }
      }
    });

    it.each(['reason', 'list'] as const)(
      'keeps the order of each machine, and repeats a %s only from what was committed',
      (kind) => {
        for (const aftermath of aftermaths) {
          const { inputs, committed, rejoined } = aftermath;
          const floors = committed.map((offsets) => firstUncommitted(inputs, kind, offsets));
          const mayRepeat = fromCommitted(floors, (life) => rejoined[life] === true);
          expect(disorder(kind, carriedOut(aftermath, kind), mayRepeat)).toEqual([]);
        }
      },
    );

    it('never has two calls under way for one machine and operation', () => {
      for (const { calls } of aftermaths) expect(overlaps(calls)).toEqual([]);
    });

    it('gives each message a final outcome', () => {
      for (const { answers, plant } of aftermaths) {
        expect(answers.unanswered(plant.load.messageIds)).toEqual([]);
      }
    });

    it('says once what became of a message, whoever has it delivered again', () => {
      for (const { answers } of aftermaths) {
        expect(answers.contradictions()).toEqual([]);
        expect(answers.repetitions()).toEqual([]);
      }
    });

    it('writes no dead letter', async () => {
      for (const { plant } of aftermaths) expect(await plant.countDeadLetters()).toBe(0);
    });
  });
}
