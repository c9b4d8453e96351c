import { realDelayMs, realNowMs } from '#libs/clock';
import type { LocalCluster } from '../../../tools/kafka/local-kafka.mjs';
import type { AppProcess } from '../app-process.js';
import { eventually } from '../eventually.js';
import type { TestTopics } from '../test-topics.js';
import type { Chance } from './chance.js';

/** The seed and duration of a random spec. */
export const SEED = positive('CHAOS_SEED', 1);
export const MINUTES = positive('CHAOS_MINUTES', 3);

const LONGEST_SUSPENSION_MS = 45_000;
const LONGEST_FREEZE_MS = 25_000;
const LONGEST_AWAY_MS = 8000;
const LONGEST_PAUSE_MS = 6000;
/** The probability that the next fault comes within two seconds after the previous one. */
const TOGETHER = 0.3;

/** Faults of the service, as the sandbox takes them. */
export const SERVICE_FAULTS = [
  { status: 503, rate: 0.5, durationSeconds: 8 },
  { status: 503, durationSeconds: 10 },
  { status: 429, retryAfter: 2, rate: 0.5, durationSeconds: 6 },
  { status: 401, rate: 0.3, durationSeconds: 6 },
  { status: 200, body: '<html>', contentType: 'text/html', rate: 0.3, durationSeconds: 6 },
  { latencyMs: 3000, rate: 0.2, durationSeconds: 15 },
  { latencyMs: 12_000, rate: 0.05, durationSeconds: 15 },
  { hang: true, rate: 0.05, durationSeconds: 10 },
  { drop: true, rate: 0.2, durationSeconds: 8 },
  { drop: true, afterApplying: true, rate: 0.2, durationSeconds: 8 },
];

const BUG =
  /"msg":"(request failed|unhandled rejection|handler failed|callbacks cannot be started|a record is passed over|an outcome is given up for a callback|messages lost: deleted before they were read)"/;
/** Sockets that a process may have open briefly, such as for a look at its topics. */
const SOCKETS_IN_PASSING = 6;

interface Fault {
  /** Relative frequency of the fault. */
  weight: number;
  /** Two faults of the same kind do not happen together. */
  kind?: string;
  /** Resolves when the fault is over. */
  happen: () => Promise<void>;
}

export type Faults = Record<string, Fault>;

/** Makes random faults happen for a time, some of them together. `state` describes the present state for the log. */
export async function happenByChance(
  faults: Faults,
  chance: Chance,
  state: () => string,
): Promise<void> {
  const begunMs = realNowMs();
  const weighted = Object.entries(faults).flatMap(([name, fault]) =>
    Array<Required<Fault> & { name: string }>(fault.weight).fill({ name, kind: name, ...fault }),
  );
  const begin = async ({ name, happen }: (typeof weighted)[number]): Promise<void> => {
    const atSeconds = Math.round((realNowMs() - begunMs) / 1000);
    process.stdout.write(`${atSeconds} s: ${name}, ${state()}\n`);
    await happen();
  };
  while (realNowMs() < begunMs + MINUTES * 60_000) {
    const [one, other] = [chance.pick(weighted), chance.pick(weighted)];
    const isTogether = chance.happens(TOGETHER) && one.kind !== other.kind;
    const delayMs = chance.upTo(2000);
    const ends = await Promise.allSettled([
      begin(one),
      ...(isTogether ? [realDelayMs(delayMs).then(() => begin(other))] : []),
    ]);
    for (const end of ends) if (end.status === 'rejected') throw end.reason;
    await realDelayMs(chance.upTo(LONGEST_PAUSE_MS));
  }
}

/** Faults of a cluster's nodes, of which the others can replace one. */
export function nodeFaults({ nodes }: LocalCluster, topics: TestTopics, chance: Chance): Faults {
  const kind = 'node';
  const isAway = async (end: 'kill' | 'stop'): Promise<void> => {
    const node = chance.pick(nodes);
    const awayMs = chance.upTo(LONGEST_AWAY_MS);
    await node[end]();
    await realDelayMs(awayMs);
    await node.restart();
    await topics.untilInSync(nodes.length);
  };
  const isFrozen = async (): Promise<void> => {
    const node = chance.pick(nodes);
    node.freeze();
    await realDelayMs(chance.upTo(LONGEST_FREEZE_MS));
    node.thaw();
    await topics.untilInSync(nodes.length);
  };
  return {
    'kill node': { weight: 2, kind, happen: () => isAway('kill') },
    'stop node': { weight: 2, kind, happen: () => isAway('stop') },
    'freeze node': { weight: 2, kind, happen: isFrozen },
  };
}

/** Log lines that mean a defect, whatever has failed. */
export function bugsOf(processes: readonly AppProcess[]): string[] {
  return processes.flatMap(({ output }) => output.split('\n')).filter((line) => BUG.test(line));
}

/** Processes of one app, each in a numbered place, that faults end and start. One of them always runs. */
export class FaultyProcesses {
  /** Running processes by their place. */
  readonly running = new Map<number, AppProcess>();

  constructor(
    private readonly chance: Chance,
    private readonly most: number,
    private readonly startAt: (place: number) => AppProcess,
  ) {}

  /** Starts one more process if a place is free. */
  start(): void {
    const places = Array.from({ length: this.most }, (_, place) => place);
    const free = places.find((place) => !this.running.has(place));
    if (free !== undefined) this.running.set(free, this.startAt(free));
  }

  /** Waits until all are ready, and returns their addresses. */
  untilReady(): Promise<string[]> {
    return Promise.all([...this.running.values()].map((app) => app.ready()));
  }

  /** Waits until no process has more connections than a new one, and until the given gauge is 0 on each. */
  async untilNothingHeld(fresh: AppProcess, gauge: string, token: string): Promise<void> {
    await fresh.ready();
    const headers = { authorization: `Bearer ${token}` };
    for (const app of this.running.values()) {
      await eventually('it holds nothing more than a new one', async () => {
        const [has, most] = [app.sockets, fresh.sockets + SOCKETS_IN_PASSING];
        if (has > most) throw new Error(`${has} connections of ${most}`);
        const metrics = await fetch(`${app.listensAt}/metrics`, { headers });
        expect(await metrics.text()).toContain(`${gauge} 0\n`);
        return true;
      });
    }
  }

  /** Stops all by SIGTERM; returns the exit codes. */
  stopAll(): Promise<(number | null)[]> {
    const stopped = [...this.running.values()].map((app) => {
      app.kill('SIGTERM');
      return app.exitCode();
    });
    return Promise.all(stopped);
  }

  /** @param beforeWaking is called before a suspended process goes on */
  faults(beforeWaking: () => Promise<void> = () => Promise.resolve()): Faults {
    const start = (): Promise<void> => {
      this.start();
      return Promise.resolve();
    };
    const kill = async (): Promise<void> => {
      const taken = this.removeOne();
      taken.kill('SIGKILL');
      await taken.exitCode();
    };
    const stop = async (): Promise<void> => {
      const taken = this.removeOne();
      // until its handlers are set, a signal's default ends the process; its first output comes later
      const takesSignals = taken.output !== '';
      taken.kill('SIGTERM');
      const exitCode = await taken.exitCode();
      if (takesSignals) expect(exitCode).toBe(0);
    };
    const suspend = async (): Promise<void> => {
      const suspended = this.chance.pick([...this.running.values()]);
      suspended.kill('SIGSTOP');
      await realDelayMs(this.chance.upTo(LONGEST_SUSPENSION_MS));
      await beforeWaking();
      suspended.kill('SIGCONT');
    };
    return {
      start: { weight: 8, happen: start },
      kill: { weight: 4, happen: kill },
      stop: { weight: 3, happen: stop },
      suspend: { weight: 3, happen: suspend },
    };
  }

  /** Removes one of the running processes; another one always remains. */
  private removeOne(): AppProcess {
    const [place, taken] = this.chance.pick([...this.running]);
    this.running.delete(place);
    if (this.running.size === 0) this.start();
    return taken;
  }
}

function positive(name: string, otherwise: number): number {
  const value = Number(process.env[name] ?? otherwise);
  if (Number.isFinite(value) && value > 0) return value;
  throw new Error(`${name} must be a number above 0: ${process.env[name]}`);
}
