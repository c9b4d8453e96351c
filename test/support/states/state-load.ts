import { realDelayMs } from '#libs/clock';
import { MACHINE_STATES } from '#libs/contracts';
import type { Chance } from '../chaos/chance.js';
import type { StatesPlant } from './states-plant.js';

const MINUTE = 60;
const ROUND_MS = 200;
/** On a busy computer, a call takes minutes of the plant's time. */
const REVISED_MINUTES = 10;
const STATES = [...MACHINE_STATES, 'NO_DATA'];

/**
 * Machines that change their state at any second, also for a single minute between two polls; that have no data for
 * some time; and whose log is revised, by some ten minutes at most, and not before `from`.
 */
export class StateLoad {
  private readonly stopping = new AbortController();
  private stream: Promise<void> = Promise.resolve();

  constructor(
    private readonly plant: StatesPlant,
    private readonly chance: Chance,
    /** Epoch seconds; nothing earlier is revised. */
    private readonly from: number,
  ) {}

  start(): void {
    this.stream = (async () => {
      while (!this.stopping.signal.aborted) {
        await this.change(this.chance.pick(this.plant.machineIds));
        await realDelayMs(ROUND_MS);
      }
    })();
    // the caller of `stop` gets the error; until then nobody waits for it
    this.stream.catch(() => undefined);
  }

  /** @throws the error that ended the stream early */
  async stop(): Promise<void> {
    this.stopping.abort();
    await this.stream;
  }

  private async change(machineId: string): Promise<void> {
    const { chance, plant } = this;
    const now = plant.clock.nowSeconds();
    const minutes = (least: number, most: number): number => chance.between(least, most) * MINUTE;
    const past = Math.max(this.from, now - minutes(1, REVISED_MINUTES));
    const changes: [string | null, from: number, to?: number][] = [
      [chance.pick(STATES), now, now + minutes(2, 40)],
      [chance.pick(STATES), now + MINUTE, now + minutes(2, 3)],
      [chance.pick(STATES), past, past + minutes(1, 6)],
      [null, past],
    ];
    const [state, from, to] = chance.pick(changes);
    await plant.sandbox.forceState(machineId, state, from, to);
  }
}
