import { realDelayMs } from '#libs/clock';
import { TOPICS } from '#libs/contracts';
import { Answers } from '../support/chaos/answers.js';
import { ChaosPlant, countRejoins } from '../support/chaos/chaos-plant.js';
import { deliveryFaults } from '../support/chaos/delivery.js';
import { atMostRepeats, type MayRepeat, sameAgain } from '../support/chaos/delivery-faults.js';
import { RunningTime } from '../support/eventually.js';
import { type Health, untilReady, untilUnready } from '../support/health.js';
import type { LoggedCall } from '../support/sandbox-control.js';

const FLOWS = ['work-orders', 'downtime-reasons'];
/**
 * An abandoned call may still take effect after later ones, so only deliberately hanging calls may take that long.
 * The connections are few, because a hang reopens all of them, and a busy service written in Node accepts one
 * at a time, between the requests of its open connections: the last of 64 waited for more than 5 s.
 */
const ENV = {
  MACHINE_CLOUD_TIMEOUT_MS: '6000',
  MACHINE_CLOUD_MAX_CONCURRENCY: '16',
  OUTCOME_DEFERRED_AFTER_SECONDS: '5',
};
const MACHINES = 50;

/**
 * Before the bridge pauses a flow it tries each machine, as the fault might be of single machines; those that failed
 * first may be tried once more meanwhile. After that it takes a few dozen probes to notice the end.
 */
const MOST_CALLS_IN_VAIN = FLOWS.length * MACHINES * 2 + 50;

interface Outage {
  name: string;
  fault: Record<string, unknown>;
  durationSeconds: number;
  /** The number of waiting messages per kind and machine. */
  perMachine: number;
  /** The text that an operator must see. */
  words: RegExp;
}

const OUTAGES: Outage[] = [
  {
    name: 'answers 503 for half a minute',
    fault: { status: 503 },
    durationSeconds: 30,
    perMachine: 50,
    words: /\b503\b/,
  },
  {
    name: 'leaves every call hanging for twenty seconds',
    fault: { hang: true },
    durationSeconds: 20,
    perMachine: 10,
    words: /no answer|time/i,
  },
];

interface Aftermath {
  plant: ChaosPlant;
  health: Health;
  calls: LoggedCall[];
  answers: Answers;
  /** How often each machine's calls may have been repeated: the computer stood still, and sessions ended. */
  repeats: number;
}

async function outlive(
  plant: ChaosPlant,
  { fault, durationSeconds, perMachine }: Outage,
): Promise<Aftermath> {
  const { load, sandbox, kafka } = plant;
  const time = new RunningTime();
  const bridge = plant.startBridge();
  const url = await bridge.ready();
  const answers = new Answers(await kafka.read(TOPICS.commandOutcomes));
  await load.send();
  await answers.untilAll(load.messageIds);
  await sandbox.addFault({ operation: '*', ...fault });
  const over = realDelayMs(durationSeconds * 1000);
  for (let round = 0; round < perMachine; round += 1) await load.send();
  const health = await untilUnready(url, ...FLOWS);
  await over;
  await sandbox.clearFaults();
  await answers.untilAll(load.messageIds, 240_000);
  await untilReady(url);
  time.stop();
  const repeats = time.stoodStillMs > 0 ? countRejoins(bridge) : 0;
  return { plant, health, answers, calls: await sandbox.allCalls(), repeats };
}

describe('a service that is down', () => {
  const plants: ChaosPlant[] = [];
  let aftermaths: Map<string, Aftermath>;

  beforeAll(async () => {
    const outlived = OUTAGES.map(async (outage): Promise<[string, Aftermath]> => {
      const plant = await ChaosPlant.open({ machines: MACHINES, env: ENV });
      plants.push(plant);
      return [outage.name, await outlive(plant, outage)];
    });
    aftermaths = new Map(await Promise.all(outlived));
  }, 700_000);

  afterAll(() => Promise.all(plants.map((plant) => plant.close())));

  describe.each(OUTAGES)('and $name', ({ name, words }) => {
    const aftermath = (): Aftermath => aftermaths.get(name)!;

    it('gets probes and no flood of calls', () => {
      const inVain = aftermath().calls.filter(({ faultId }) => faultId !== null);
      expect(inVain.length).toBeGreaterThan(0);
      expect(inVain.length).toBeLessThan(MOST_CALLS_IN_VAIN);
    });

    it('is reported as text on /health/ready for both flows', () => {
      const { status, problems } = aftermath().health;
      expect(status).toBe(503);
      for (const flow of FLOWS) expect(problems[flow]).toMatch(words);
    });

    it('gets everything in order after it has recovered', () => {
      const { plant, calls, repeats } = aftermath();
      const mayRepeat = (): MayRepeat => {
        const mayStepBack = atMostRepeats(repeats);
        return (...step) => sameAgain(...step) || mayStepBack(...step);
      };
      expect(deliveryFaults(plant.load, calls, { mayRepeat })).toEqual([]);
    });

    it('has each message answered once, deferred at most once, and none rejected', async () => {
      const { plant, answers } = aftermath();
      expect(answers.repetitions()).toEqual([]);
      const deferrals = plant.load.messageIds.map((id) => answers.deferralsOf(id));
      expect(Math.max(...deferrals)).toBe(1);
      expect(await plant.countDeadLetters()).toBe(0);
    });
  });
});
