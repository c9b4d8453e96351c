import { setImmediate as turn } from 'node:timers/promises';
import { jest } from '@jest/globals';
import { Logger } from '@nestjs/common';
import { ManualClock } from '#libs/clock';
import type { FlowHold } from '../../flow-control/index.js';
import { unpausedFlows } from '../../flow-control/testing/unpaused-flows.js';
import { bridgeSettings } from '../../platform/testing/bridge-settings.js';
import { PollHealth } from './poll-health.js';
import { type Poll, type Polled, PollLoop } from './poll-loop.js';
import { PollingMetrics } from './polling-metrics.js';

const T0 = 1_763_680_000;
const FORBIDDEN = { kind: 'unauthorised', status: 403 } as const;

/** A machine whose polls last until they are answered. */
class HeldMachine implements Polled {
  hasEnded = false;
  polls = 0;
  passedOver = 0;
  inFlight = 0;
  /** Results of its polls. */
  failure: Poll['failure'] = null;
  logEntries = 0;
  conclusions = 0;
  /** Settles when the results of its polls are published. */
  published: Promise<void> = Promise.resolve();
  private answers: (() => void)[] = [];

  constructor(
    readonly machineId: string,
    public updatedAt: number | null = T0 + 10,
  ) {}

  async poll(): Promise<Poll> {
    this.polls += 1;
    this.inFlight += 1;
    await new Promise<void>((resolve) => this.answers.push(resolve));
    this.inFlight -= 1;
    const { failure, logEntries } = this;
    const conclude = (): Promise<void> => {
      this.conclusions += 1;
      return this.published;
    };
    return { failure, logEntries, conclude };
  }

  passOver(): Promise<void> {
    this.passedOver += 1;
    return Promise.resolve();
  }

  answer(): void {
    for (const answer of this.answers.splice(0)) answer();
  }
}

const machinesUpdatedAt = (...times: (number | null)[]): HeldMachine[] =>
  times.map((updatedAt, index) => new HeldMachine(`M-${index}`, updatedAt));

const pollsOf = (machines: readonly HeldMachine[]): number[] => machines.map(({ polls }) => polls);

describe('PollLoop', () => {
  let clock: ManualClock;
  let health: PollHealth;
  let loop: PollLoop;
  let hold: FlowHold;

  function startLoop(maxConcurrency: number): void {
    const settings = bridgeSettings({ MACHINE_CLOUD_MAX_CONCURRENCY: String(maxConcurrency) });
    clock = new ManualClock(T0 * 1000);
    health = new PollHealth(clock);
    const controls = unpausedFlows();
    loop = new PollLoop(settings, clock, health, new PollingMetrics(), controls);
    hold = controls.holdOf('machine-states');
    loop.onApplicationBootstrap();
  }

  function restartLoop(maxConcurrency: number): void {
    loop.beforeApplicationShutdown();
    startLoop(maxConcurrency);
  }

  /** Lets all work run that waits for neither the clock nor an answer. */
  async function settle(): Promise<void> {
    for (let round = 0; round < 5; round += 1) await turn();
  }

  async function moveTo(epochSeconds: number): Promise<void> {
    clock.set(epochSeconds);
    await settle();
  }

  async function answer(machine: HeldMachine): Promise<void> {
    machine.answer();
    await settle();
  }

  async function answerAt(machine: HeldMachine, epochSeconds: number): Promise<void> {
    await moveTo(epochSeconds);
    await answer(machine);
  }

  beforeEach(() => {
    startLoop(64);
  });

  afterEach(() => {
    loop.beforeApplicationShutdown();
  });

  it('polls a machine once an interval, right after its own update', async () => {
    const machine = new HeldMachine('M-1');
    loop.addMachines([machine]);
    await moveTo(T0 + 10);
    expect(machine.polls).toBe(0);
    for (let round = 0; round < 4; round += 1) {
      await answerAt(machine, T0 + 12 + round * 60);
      expect(machine.polls).toBe(round + 1);
    }
  });

  it('polls new machines soon, and then after their updates', async () => {
    const machines = machinesUpdatedAt(null, null, null);
    loop.addMachines(machines);
    await moveTo(T0 + 1);
    expect(pollsOf(machines)).toEqual([1, 1, 1]);
    machines[0]!.updatedAt = T0 + 40;
    await answer(machines[0]!);
    await moveTo(T0 + 40);
    expect(machines[0]!.polls).toBe(1);
    await moveTo(T0 + 42);
    expect(machines[0]!.polls).toBe(2);
  });

  it('polls a machine at once if its turn was missed during a change of owner', async () => {
    const machines = machinesUpdatedAt(T0 - 10, T0 - 30);
    loop.addMachines(machines);
    await settle();
    expect(pollsOf(machines)).toEqual([1, 0]);
  });

  it('moves a machine whose updates come at another time than before', async () => {
    const machine = new HeldMachine('M-1');
    loop.addMachines([machine]);
    await moveTo(T0 + 12);
    machine.updatedAt = T0 + 30;
    await answer(machine);
    await answerAt(machine, T0 + 92);
    expect(machine.polls).toBe(2);
    await moveTo(T0 + 149);
    expect(machine.polls).toBe(2);
    await moveTo(T0 + 152);
    expect(machine.polls).toBe(3);
  });

  it('skips the turns of a machine whose answer is still awaited', async () => {
    const machine = new HeldMachine('M-1');
    loop.addMachines([machine]);
    await moveTo(T0 + 12);
    await moveTo(T0 + 162);
    expect(machine.inFlight).toBe(1);
    await answer(machine);
    expect(machine.polls).toBe(1);
    await moveTo(T0 + 192);
    expect(machine.polls).toBe(2);
  });

  it('publishes long activity logs one after the other, since their events are in memory', async () => {
    const machines = machinesUpdatedAt(T0, T0, T0);
    const published: (() => void)[] = [];
    for (const machine of machines) {
      machine.logEntries = 9000;
      machine.published = new Promise((resolve) => published.push(resolve));
    }
    loop.addMachines(machines);
    await moveTo(T0 + 59);
    for (const machine of machines) machine.answer();
    const conclusions = (): number => machines.reduce((sum, it) => sum + it.conclusions, 0);
    for (let rounds = 1; rounds <= 3; rounds += 1) {
      await settle();
      expect(conclusions()).toBe(rounds);
      machines.forEach(({ conclusions: made }, index) => made > 0 && published[index]?.());
    }
  });

  it('polls other machines while the result of one poll is being published', async () => {
    restartLoop(1);
    const machines = machinesUpdatedAt(T0 + 1, T0 + 5);
    let isTaken = (): void => undefined;
    machines[0]!.published = new Promise((resolve) => (isTaken = resolve));
    loop.addMachines(machines);
    await answerAt(machines[0]!, T0 + 10);
    expect(pollsOf(machines)).toEqual([1, 1]);
    await answer(machines[1]!);
    await moveTo(T0 + 75);
    expect(pollsOf(machines)).toEqual([1, 2]);
    isTaken();
    await answer(machines[1]!);
    await moveTo(T0 + 130);
    expect(machines[0]!.polls).toBe(2);
  });

  it('polls the machine that is due first when a slot is free, and none that has ended', async () => {
    restartLoop(1);
    const machines = machinesUpdatedAt(T0 + 1, T0 + 5, T0 + 9, T0 + 13);
    loop.addMachines(machines);
    await moveTo(T0 + 30);
    machines[1]!.hasEnded = true;
    await answer(machines[0]!);
    expect(pollsOf(machines)).toEqual([1, 0, 1, 0]);
  });

  describe('of a service that answers no poll', () => {
    /** One machine is updated each second of a minute. */
    const machines = (): HeldMachine[] =>
      machinesUpdatedAt(...Array.from({ length: 60 }, (_, index) => T0 + index));

    const answerAll = async (
      all: readonly HeldMachine[],
      failure: Poll['failure'] = null,
    ): Promise<void> => {
      for (const machine of all) machine.failure = failure;
      for (let round = 0; round < 3; round += 1) {
        for (const machine of all) machine.answer();
        await settle();
      }
    };

    /** Returns the number of machines polled. */
    const pass = async (all: readonly HeldMachine[], seconds: number): Promise<number> => {
      const before = all.reduce((sum, { polls }) => sum + polls, 0);
      for (let second = 0; second < seconds; second += 1) {
        clock.advance(1);
        await settle();
        await answerAll(all, FORBIDDEN);
      }
      return all.reduce((sum, { polls }) => sum + polls, 0) - before;
    };

    it('polls one machine now and then, once none has been answered for ten seconds', async () => {
      const all = machines();
      loop.addMachines(all);
      await pass(all, 20);
      expect(health.isPaused).toBe(true);
      const [before, passedOver] = [pollsOf(all), () => all.map((it) => it.passedOver)];
      expect(await pass(all, 60)).toBeLessThanOrEqual(40);
      // Each has its turn, polled or not.
      const looked = all.map((it, index) => it.polls - before[index]! + passedOver()[index]!);
      expect(Math.min(...looked)).toBeGreaterThanOrEqual(1);
    });

    it('polls all machines whose turns were passed over at once, when one is answered', async () => {
      restartLoop(8);
      const all = machines();
      loop.addMachines(all);
      await pass(all, 300);
      // except those whose polls failed within the last minute
      const probed = pollsOf(all);
      await pass(all, 60);
      expect(health.isPaused).toBe(true);
      const before = pollsOf(all);
      const passedOver = all.filter(({ polls }, index) => polls === probed[index]);
      expect(passedOver.length).toBeGreaterThan(20);
      clock.advance(5);
      await settle();
      for (let round = 0; round < 20; round += 1) {
        const inFlight = all.reduce((sum, machine) => sum + machine.inFlight, 0);
        expect(inFlight).toBeLessThanOrEqual(8);
        await answerAll(all);
      }
      expect(health.isPaused).toBe(false);
      const left = passedOver.filter((it) => it.polls === before[all.indexOf(it)]);
      expect(left).toEqual([]);
      // and from then on once a minute
      const now = clock.nowSeconds();
      const since = pollsOf(all);
      for (let second = 1; second <= 120; second += 1) {
        await moveTo(now + second);
        await answerAll(all);
      }
      const times = pollsOf(all).map((polls, index) => polls - since[index]!);
      expect(new Set(times)).toEqual(new Set([2]));
    });
  });

  it.each([-3600, 3600, -17])(
    'polls each machine once a minute even if the wall clock is set by %i seconds',
    async (seconds) => {
      const machines = machinesUpdatedAt(T0 + 10, T0 + 25, T0 + 40, null);
      loop.addMachines(machines);
      const pass = async (minutes: number): Promise<number[]> => {
        const before = pollsOf(machines);
        for (let second = 0; second < minutes * 60; second += 1) {
          clock.advance(1);
          await settle();
          for (const machine of machines) machine.answer();
          await settle();
        }
        return pollsOf(machines).map((polls, index) => polls - before[index]!);
      };
      await pass(2);
      clock.shiftWallClock(seconds);
      const [withoutUpdate = 0, ...others] = (await pass(10)).reverse();
      expect(others).toEqual([10, 10, 10]);
      // its place in the minute is random: if the step has skipped or repeated it, the poll is a minute later
      expect(withoutUpdate).toBeGreaterThanOrEqual(9);
      expect(withoutUpdate).toBeLessThanOrEqual(10);
    },
  );

  it('continues after a poll that threw, and logs the error with its stack', async () => {
    const error = jest.spyOn(Logger.prototype, 'error').mockReturnValue(undefined);
    const broken = new Error('a defect');
    const machine = new HeldMachine('M-1');
    const poll = jest.spyOn(machine, 'poll').mockRejectedValue(broken);
    loop.addMachines([machine]);
    await moveTo(T0 + 12);
    expect(error).toHaveBeenCalledWith({ msg: 'poll failed', machineId: 'M-1', err: broken });
    await moveTo(T0 + 72);
    expect(poll).toHaveBeenCalledTimes(2);
  });

  it.each(['a machine that has ended', 'when the application stops'])(
    'stops polling %s',
    async (what) => {
      const machine = new HeldMachine('M-1');
      loop.addMachines([machine]);
      await settle();
      if (what === 'a machine that has ended') machine.hasEnded = true;
      else loop.beforeApplicationShutdown();
      await moveTo(T0 + 120);
      expect(machine.polls).toBe(0);
    },
  );

  it('polls no machine while operators pause the flow, and makes up the turns at once afterwards', async () => {
    hold.setHeld(true);
    const machines = machinesUpdatedAt(null, T0, T0 + 30);
    loop.addMachines(machines);
    await moveTo(T0 + 600);
    expect(pollsOf(machines)).toEqual([0, 0, 0]);
    hold.setHeld(false);
    await settle();
    expect(pollsOf(machines)).toEqual([1, 1, 1]);
    expect(health.pollingSinceMs).toBe(clock.monotonicMs());
    hold.setHeld(true);
    for (const machine of machines) machine.answer();
    await settle();
    await moveTo(T0 + 1200);
    expect(pollsOf(machines)).toEqual([1, 1, 1]);
    hold.setHeld(false);
    await settle();
    expect(pollsOf(machines)).toEqual([2, 2, 2]);
  });
});
