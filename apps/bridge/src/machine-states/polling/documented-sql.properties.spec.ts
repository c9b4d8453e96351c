import { readFile } from 'node:fs/promises';
import fc from 'fast-check';
import initSqlJs, { type Database, type SqlJsStatic } from 'sql.js';
import { MACHINE_STATES, type MachineState, type MachineStateRecord } from '#libs/contracts';
import type { SequencedEvent } from '../derivation/state-events.js';
import { latestVersions, minuteOf } from './testing/folded-stream.js';
import { MINUTE, SimulatedService, timeOf, type Timeline } from './testing/simulated-service.js';
import { LAST_POLL, stories, watched } from './testing/stories.js';
import { WatchedMachine } from './testing/watched-machine.js';

const RUNS = 25 * Number(process.env.PROPERTY_DEPTH ?? 1);
const DAY = 24 * 60;
const DOCUMENT = new URL('../../../../../docs/machine-states.md', import.meta.url);

/** In minutes. */
type Bill = Partial<Record<MachineState, number>>;

/** The statements of docs/machine-states.md, by the first comment of each. */
async function documentedStatements(): Promise<Map<string, string>> {
  const text = await readFile(DOCUMENT, 'utf8');
  const blocks = [...text.matchAll(/^```sql\n-- (.*)\n([^]*?)^```$/gm)];
  return new Map(blocks.map(([, comment = '', statement = '']) => [comment, statement]));
}

/** A subscriber that follows docs/machine-states.md. */
class Subscriber {
  constructor(
    private readonly database: Database,
    private readonly statements: ReadonlyMap<string, string>,
  ) {
    this.run('once');
  }

  take({ id, event }: SequencedEvent): void {
    const { data } = event;
    if (!('startTime' in data)) return;
    if ('corrects' in data) {
      this.run('of a machine.state.corrected.v1, before it is inserted', {
        corrects: data.corrects,
      });
    }
    this.run('of each machine.state.changed.v1 and machine.state.corrected.v1', {
      previousEndTime: null,
      ...data,
      ceId: id,
    });
  }

  /** @param from and to in epoch seconds */
  bill(machineId: string, from: number, to: number): Bill {
    const rows = this.run('seconds in each state from :from to :to', { machineId, from, to });
    const minutes = rows.map(({ state, seconds }) => [state, Number(seconds) / MINUTE] as const);
    return Object.fromEntries(minutes) as Bill;
  }

  private run(comment: string, values: Record<string, unknown> = {}): Record<string, unknown>[] {
    const sql = this.statements.get(comment);
    if (sql === undefined) throw new Error(`the document has no statement "${comment}"`);
    const statement = this.database.prepare(sql);
    try {
      statement.bind(
        Object.fromEntries(
          Object.entries(values).map(([name, value]) => [`:${name}`, value]),
        ) as Record<string, string | number | null>,
      );
      const rows: Record<string, unknown>[] = [];
      while (statement.step()) rows.push(statement.getAsObject());
      return rows;
    } finally {
      statement.free();
    }
  }
}

function truthOf(timeline: Timeline, first: number, end: number): Bill {
  const bill: Bill = {};
  for (const state of timeline.slice(Math.max(0, first), end)) {
    if (state !== null) bill[state] = (bill[state] ?? 0) + 1;
  }
  return bill;
}

describe('the documented SQL', () => {
  let sql: SqlJsStatic;
  let statements: Map<string, string>;

  const subscribed = (use: (subscriber: Subscriber) => void): void => {
    const database = new sql.Database();
    try {
      use(new Subscriber(database, statements));
    } finally {
      database.close();
    }
  };

  const firstMinute = (events: readonly SequencedEvent[]): number =>
    Math.min(...latestVersions(events).map(({ startTime }) => minuteOf(startTime)));

  beforeAll(async () => {
    sql = await initSqlJs();
    statements = await documentedStatements();
  });

  it('books the states of the service, whatever was lost, revised or read late', async () => {
    await fc.assert(
      fc.asyncProperty(stories, async (story) => {
        const { timeline } = story;
        // A start within its minute is not corrected.
        const update = { ...story.update, phaseSeconds: 0 };
        const machine = watched({ ...story, update });
        for (const poll of story.polls) await machine.poll(poll);
        const { startTime } = machine.record as { startTime: number };
        subscribed((subscriber) => {
          for (const event of machine.events) subscriber.take(event);
          const bill = subscriber.bill('M-1', 0, startTime);
          const truth = truthOf(timeline, firstMinute(machine.events), minuteOf(startTime));
          expect(bill).toEqual(truth);
        });
      }),
      { numRuns: RUNS },
    );
  });

  it('books the time since a late subscriber joined', async () => {
    await fc.assert(
      fc.asyncProperty(stories, fc.nat(60), async (story, joinsAt) => {
        const { timeline, polls } = story;
        const update = { ...story.update, phaseSeconds: 0 };
        const { settleSeconds = 0 } = story.options;
        const machine = watched({ ...story, update, options: { settleSeconds } });
        let joined: MachineStateRecord | undefined;
        for (const [index, poll] of polls.entries()) {
          await machine.poll(poll);
          if (index === joinsAt % polls.length) joined = machine.record;
        }
        const { startTime: end } = machine.record as { startTime: number };
        if (joined?.startTime === undefined || joined.startTime === null) return;
        const { sequence, startTime: from } = joined;
        subscribed((subscriber) => {
          for (const event of machine.events) if (event.sequence > sequence) subscriber.take(event);
          const bill = subscriber.bill('M-1', from, end);
          const first = Math.max(minuteOf(from), firstMinute(machine.events));
          expect(bill).toEqual(truthOf(timeline, first, minuteOf(end)));
        });
      }),
      { numRuns: RUNS },
    );
  });

  it('books no time of sixty days that could not be read', async () => {
    // At the start of the log that can be read, the machine is in the state that it was in before.
    const stretches: [MachineState, number][] = [
      ['IDLE', 90],
      ['OPERATING', 45],
      ['OFF', 20 * DAY],
      ['OPERATING', 20 * DAY],
      ['IDLE', 20 * DAY],
      ['OFF', 30],
    ];
    const timeline = stretches.flatMap(([state, minutes]) =>
      Array<MachineState>(minutes).fill(state),
    );
    const service = new SimulatedService(timeline, [], { isMinuteEnd: true, phaseSeconds: 0 });
    const machine = new WatchedMachine(service, { clockAheadSeconds: 0 });
    const [seen, back] = [130, timeline.length - 15];
    for (let minute = 80; minute < seen; minute += 1) {
      await machine.poll({ ...LAST_POLL, isAfterRestart: false, minute });
    }
    await machine.poll({ ...LAST_POLL, isAfterRestart: false, state: 'noData', minute: seen });
    for (let minute = back; minute < timeline.length; minute += 1) {
      await machine.poll({ ...LAST_POLL, isAfterRestart: false, minute });
    }
    subscribed((subscriber) => {
      for (const event of machine.events) subscriber.take(event);
      const [first, end] = [timeOf(0), timeOf(timeline.length)];
      const truncated = machine.events
        .map(({ event }) => event.data)
        .find((data) => 'historyTruncatedBefore' in data);
      const edge = minuteOf(
        (truncated as { historyTruncatedBefore: number }).historyTruncatedBefore,
      );
      const { startTime } = machine.record as { startTime: number };
      const known = timeline.map((state, minute) =>
        minute < seen || minute >= edge ? state : null,
      );
      expect(subscriber.bill('M-1', first, end)).toEqual(truthOf(known, 0, minuteOf(startTime)));
      expect(edge).toBeGreaterThan(25 * DAY);
    });
  });

  it.each(MACHINE_STATES)('books no hours without a log in which it was %s', async (state) => {
    const timeline: Timeline = [
      ...Array<MachineState>(60).fill('OPERATING'),
      ...Array<MachineState>(600).fill(state),
      ...Array<MachineState>(20).fill('OPERATING'),
      ...Array<MachineState>(20).fill('IDLE'),
    ];
    const service = new SimulatedService(timeline, [], { isMinuteEnd: true, phaseSeconds: 0 });
    const machine = new WatchedMachine(service, { clockAheadSeconds: 0 });
    for (const minute of timeline.keys()) {
      // The bridge is down meanwhile, and the token may not read logs.
      if (minute >= 50 && minute < 665) continue;
      const isAfterRestart = minute === 665;
      await machine.poll({ ...LAST_POLL, isAfterRestart, log: 'forbidden', minute });
    }
    subscribed((subscriber) => {
      for (const event of machine.events) subscriber.take(event);
      const { OPERATING, ...others } = subscriber.bill('M-1', 0, timeOf(680));
      // If the state was the same all along, the duration says so.
      const booked = state === 'OPERATING' ? 680 : 50 + 20;
      // The time when the machine was last seen is known to STALE_AFTER_SECONDS.
      expect(OPERATING).toBeLessThanOrEqual(booked + 2);
      expect(OPERATING).toBeGreaterThanOrEqual(booked - 7);
      expect(others).toEqual({});
    });
  });
});
