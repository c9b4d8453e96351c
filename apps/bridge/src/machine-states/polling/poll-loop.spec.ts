import { setImmediate as turn } from 'node:timers/promises';
import { jest } from '@jest/globals';
import { Logger } from '@nestjs/common';
import { ManualClock } from '#libs/clock';
import { loadBridgeSettings } from '#libs/config';
import { PollHealth } from './poll-health.js';
import { PollLoop } from './poll-loop.js';
import { type Poll, type Polled } from './polled.js';
import { PollingMetrics } from './polling-metrics.js';

const T0 = 1_763_680_000;

/** A machine whose polls last until they are answered. */
class HeldMachine implements Polled {
  hasEnded = false;
  polls = 0;
  passedOver = 0;
  inFlight = 0;
  /** Settles when Kafka has taken what the polls brought to light. */
  published: Promise<void> = Promise.resolve();
  private answers: ((restMs: number) => void)[] = [];

  constructor(
    readonly machineId: string,
    public updatedAt: number | null = T0 + 10,
  ) {}

  async poll(): Promise<Poll> {
    this.polls += 1;
    this.inFlight += 1;
    const restMs = await new Promise<number>((resolve) => this.answers.push(resolve));
    this.inFlight -= 1;
    return { restMs, conclude: () => this.published };
  }

  passOver(): Promise<void> {
    this.passedOver += 1;
    return Promise.resolve();
  }

  answer(restMs = 0): void {
    for (const answer of this.answers.splice(0)) answer(restMs);
  }
}

const machinesUpdatedAt = (...times: (number | null)[]): HeldMachine[] =>
  times.map((updatedAt, index) => new HeldMachine(`M-${index}`, updatedAt));

const pollsOf = (machines: readonly HeldMachine[]): number[] => machines.map(({ polls }) => polls);

describe('PollLoop', () => {
  let clock: ManualClock;
  let health: PollHealth;
  let loop: PollLoop;

  function startLoop(maxConcurrency: number): void {
    const settings = loadBridgeSettings({
      KAFKA_BROKERS: 'localhost:9092',
      MACHINE_CLOUD_BASE_URL: 'http://localhost:1',
      MACHINE_CLOUD_TOKEN: 'a-token',
      MACHINE_CLOUD_MAX_CONCURRENCY: String(maxConcurrency),
    });
    clock = new ManualClock(T0 * 1000);
    health = new PollHealth();
    loop = new PollLoop(settings, clock, health, new PollingMetrics());
    loop.onApplicationBootstrap();
  }

  /** Lets everything run that does not wait for the clock or for an answer. */
  async function settle(): Promise<void> {
    for (let round = 0; round < 5; round += 1) await turn();
  }

  async function moveTo(epochSeconds: number): Promise<void> {
    clock.set(epochSeconds);
    await settle();
  }

  async function answerAt(machine: HeldMachine, epochSeconds: number, restMs = 0): Promise<void> {
    await moveTo(epochSeconds);
    machine.answer(restMs);
    await settle();
  }

  beforeAll(() => {
    Logger.overrideLogger(false);
  });

  beforeEach(() => {
    startLoop(64);
  });

  afterEach(() => {
    loop.beforeApplicationShutdown();
  });

  it('polls a machine once an interval, right after its own update', async () => {
    const machine = new HeldMachine('M-1');
    loop.addAll([machine]);
    await moveTo(T0 + 10);
    expect(machine.polls).toBe(0);
    for (let round = 0; round < 4; round += 1) {
      await answerAt(machine, T0 + 12 + round * 60);
      expect(machine.polls).toBe(round + 1);
    }
  });

  it('polls machines that it does not know soon, and then after their updates', async () => {
    const machines = machinesUpdatedAt(null, null, null);
    loop.addAll(machines);
    await moveTo(T0 + 1);
    expect(pollsOf(machines)).toEqual([1, 1, 1]);
    machines[0]!.updatedAt = T0 + 40;
    machines[0]!.answer();
    await settle();
    await moveTo(T0 + 40);
    expect(machines[0]!.polls).toBe(1);
    await moveTo(T0 + 42);
    expect(machines[0]!.polls).toBe(2);
  });

  it('polls a machine at once whose turn has just been missed while it was handed over', async () => {
    const machines = machinesUpdatedAt(T0 - 10, T0 - 30);
    loop.addAll(machines);
    await settle();
    expect(pollsOf(machines)).toEqual([1, 0]);
  });

  it('follows a machine whose updates come at another time than before', async () => {
    const machine = new HeldMachine('M-1');
    loop.addAll([machine]);
    await moveTo(T0 + 12);
    machine.updatedAt = T0 + 30;
    machine.answer();
    await settle();
    await answerAt(machine, T0 + 92);
    expect(machine.polls).toBe(2);
    await moveTo(T0 + 149);
    expect(machine.polls).toBe(2);
    await moveTo(T0 + 152);
    expect(machine.polls).toBe(3);
  });

  it('skips the turns of a machine whose answer is still awaited', async () => {
    const machine = new HeldMachine('M-1');
    loop.addAll([machine]);
    await moveTo(T0 + 12);
    await moveTo(T0 + 162);
    expect(machine.inFlight).toBe(1);
    machine.answer();
    await settle();
    expect(machine.polls).toBe(1);
    await moveTo(T0 + 192);
    expect(machine.polls).toBe(2);
  });

  it('leaves a machine alone for as long as the service asked', async () => {
    const machine = new HeldMachine('M-1');
    loop.addAll([machine]);
    await answerAt(machine, T0 + 12, 100_000);
    await moveTo(T0 + 111);
    expect(machine.polls).toBe(1);
    await moveTo(T0 + 132);
    expect(machine.polls).toBe(2);
  });

  it('never has more polls under way than it may', async () => {
    loop.beforeApplicationShutdown();
    startLoop(3);
    const machines = machinesUpdatedAt(...new Array<number>(10).fill(T0));
    loop.addAll(machines);
    await moveTo(T0 + 59);
    let rounds = 0;
    while (machines.some(({ polls }) => polls === 0)) {
      const inFlight = machines.reduce((sum, machine) => sum + machine.inFlight, 0);
      expect(inFlight).toBeLessThanOrEqual(3);
      for (const machine of machines) machine.answer();
      await settle();
      rounds += 1;
      expect(rounds).toBeLessThan(10);
    }
  });

  it('lets others be polled while what one poll brought to light is being published', async () => {
    loop.beforeApplicationShutdown();
    startLoop(1);
    const machines = machinesUpdatedAt(T0 + 1, T0 + 5);
    let isTaken = (): void => undefined;
    machines[0]!.published = new Promise((resolve) => (isTaken = resolve));
    loop.addAll(machines);
    await answerAt(machines[0]!, T0 + 10);
    expect(pollsOf(machines)).toEqual([1, 1]);
    machines[1]!.answer();
    await settle();
    await moveTo(T0 + 75);
    expect(pollsOf(machines)).toEqual([1, 2]);
    isTaken();
    machines[1]!.answer();
    await settle();
    await moveTo(T0 + 130);
    expect(machines[0]!.polls).toBe(2);
  });

  it('polls the machine that is due first once there is room, and nobody who has left', async () => {
    loop.beforeApplicationShutdown();
    startLoop(1);
    const machines = machinesUpdatedAt(T0 + 1, T0 + 5, T0 + 9, T0 + 13);
    loop.addAll(machines);
    await moveTo(T0 + 30);
    machines[1]!.hasEnded = true;
    machines[0]!.answer();
    await settle();
    expect(pollsOf(machines)).toEqual([1, 0, 1, 0]);
  });

  it('asks for nobody but now and then while the service answers nobody', async () => {
    const machines = machinesUpdatedAt(...new Array<number>(20).fill(T0 + 10));
    for (const machine of machines) {
      jest.spyOn(machine, 'poll').mockImplementation(() => {
        machine.polls += 1;
        health.failed(machine.machineId, { kind: 'unauthorised', status: 403 });
        return Promise.resolve({ restMs: 0, conclude: () => Promise.resolve() });
      });
    }
    loop.addAll(machines);
    await moveTo(T0 + 12);
    const asked = machines.filter(({ polls }) => polls === 1).length;
    const passedOver = machines.filter((machine) => machine.passedOver === 1).length;
    expect(asked).toBeGreaterThanOrEqual(5);
    expect(passedOver).toBeGreaterThan(0);
    expect(asked + passedOver).toBe(20);
  });

  it('goes on after a poll that threw, and logs the error with its stack', async () => {
    const error = jest.spyOn(Logger.prototype, 'error').mockReturnValue(undefined);
    const broken = new Error('a defect');
    const machine = new HeldMachine('M-1');
    const poll = jest.spyOn(machine, 'poll').mockRejectedValue(broken);
    loop.addAll([machine]);
    await moveTo(T0 + 12);
    expect(error).toHaveBeenCalledWith({ msg: 'poll failed', machineId: 'M-1', err: broken });
    await moveTo(T0 + 72);
    expect(poll).toHaveBeenCalledTimes(2);
    jest.restoreAllMocks();
  });

  it('stops polling a machine that has ended', async () => {
    const machine = new HeldMachine('M-1');
    loop.addAll([machine]);
    await settle();
    machine.hasEnded = true;
    await moveTo(T0 + 120);
    expect(machine.polls).toBe(0);
  });

  it('stops polling when the application stops', async () => {
    const machine = new HeldMachine('M-1');
    loop.addAll([machine]);
    await settle();
    loop.beforeApplicationShutdown();
    await moveTo(T0 + 120);
    expect(machine.polls).toBe(0);
  });
});
