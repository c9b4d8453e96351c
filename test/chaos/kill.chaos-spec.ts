import { TOPICS } from '#libs/contracts';
import { Answers } from '../support/chaos/answers.js';
import { ChaosPlant } from '../support/chaos/chaos-plant.js';
import {
  committedBy,
  type CommittedOffsets,
  firstUncommitted,
} from '../support/chaos/committed.js';
import { type CommandKind, numberOfList } from '../support/chaos/commands.js';
import { type Deliveries, deliveriesOf } from '../support/chaos/deliveries.js';
import {
  disorder,
  fromCommitted,
  lostReasons,
  staleLists,
} from '../support/chaos/delivery-faults.js';
import { overlaps } from '../support/chaos/overlaps.js';
import { untilCalled } from '../support/chaos/until-called.js';
import { eventually } from '../support/eventually.js';
import { type LoggedCall } from '../support/sandbox-control.js';
import { type ReadRecord } from '../support/topic-reader.js';

/** How many reasons the n-th process of a group may call for before it is killed. */
const CALLS_BEFORE_KILL = [1, 200, 60, 320, 10, 120, 280];
/** The coordinator takes 8 s to miss a killed process: with three groups at once it is a third of the time. */
const GROUPS = 3;
const LATENCY_MS = 60;

interface Aftermath {
  plant: ChaosPlant;
  answers: Answers;
  calls: LoggedCall[];
  /** Sequence number of the last call of each process that was killed. */
  takeovers: number[];
  /** What was committed when it was. */
  committed: CommittedOffsets[];
  inputs: readonly ReadRecord[];
}

async function killUnderLoad(plant: ChaosPlant): Promise<Aftermath> {
  const { sandbox, load, kafka } = plant;
  await sandbox.addFault({ operation: '*', latencyMs: LATENCY_MS });
  load.start({ perSecond: 30 });
  const takeovers: number[] = [];
  const committed: CommittedOffsets[] = [];
  let bridge = plant.startBridge();
  for (const times of CALLS_BEFORE_KILL) {
    await untilCalled(plant, 'reason', { times, since: takeovers.at(-1) ?? 0 });
    bridge.kill('SIGKILL');
    await bridge.exitCode();
    committed.push(await committedBy(plant));
    bridge = plant.startBridge();
    // What the last one had sent by then has arrived, and the next one has to wait for its place still.
    await bridge.url();
    takeovers.push(await sandbox.newestCall());
  }
  await bridge.ready();
  await load.stop();
  const answers = new Answers(await kafka.read(TOPICS.commandOutcomes));
  await answers.untilAll(load.messageIds, 60_000);
  const inputs = await kafka.read(TOPICS.workOrderLists, TOPICS.downtimeReasons);
  const { records } = inputs;
  await eventually(() => records.length === load.messageIds.length, { what: 'all input is read' });
  const calls = await sandbox.allCalls();
  return { plant, answers, calls, takeovers, committed, inputs: records };
}

describe('the bridge under load, killed twenty-one times', () => {
  const plants: ChaosPlant[] = [];
  let aftermaths: Aftermath[];

  beforeAll(async () => {
    for (let group = 1; group <= GROUPS; group += 1) plants.push(await ChaosPlant.open());
    aftermaths = await Promise.all(plants.map((plant) => killUnderLoad(plant)));
  }, 240_000);

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
        const { inputs, committed } = aftermath;
        const floors = committed.map((offsets) => firstUncommitted(inputs, kind, offsets));
        expect(disorder(kind, carriedOut(aftermath, kind), fromCommitted(floors))).toEqual([]);
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

  it('sets nothing aside', async () => {
    for (const { plant } of aftermaths) expect(await plant.countDeadLetters()).toBe(0);
  });
});
