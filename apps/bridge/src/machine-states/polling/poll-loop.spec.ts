import { setImmediate as turn } from 'node:timers/promises';
import { jest } from '@jest/globals';
import { Logger } from '@nestjs/common';
import { ManualClock } from '#libs/clock';
import { loadBridgeSettings } from '#libs/config';
import { PollLoop, type Polled } from './poll-loop.js';
import { nextPollMs, phaseMs } from './poll-times.js';
import { PollingMetrics } from './polling-metrics.js';

const T0 = 1_763_680_000;
const INTERVAL_MS = 60_000;

/** A machine whose polls last until they are answered. */
class HeldMachine implements Polled {
  readonly ending = new AbortController();
  readonly signal = this.ending.signal;
  polls = 0;
  inFlight = 0;
  private answers: ((restMs: number) => void)[] = [];

  constructor(readonly machineId: string) {}

  get firstTurnSeconds(): number {
    return nextPollMs(phaseMs(this.machineId, INTERVAL_MS), INTERVAL_MS, T0 * 1000) / 1000;
  }

  async poll(): Promise<number> {
    this.polls += 1;
    this.inFlight += 1;
    const restMs = await new Promise<number>((resolve) => this.answers.push(resolve));
    this.inFlight -= 1;
    return restMs;
  }

  answer(restMs = 0): void {
    for (const answer of this.answers.splice(0)) answer(restMs);
  }
}

describe('PollLoop', () => {
  let clock: ManualClock;
  let loop: PollLoop;

  function startLoop(maxConcurrency: number): void {
    const settings = loadBridgeSettings({
      KAFKA_BROKERS: 'localhost:9092',
      MACHINE_CLOUD_BASE_URL: 'http://localhost:1',
      MACHINE_CLOUD_TOKEN: 'a-token',
      MACHINE_CLOUD_MAX_CONCURRENCY: String(maxConcurrency),
    });
    clock = new ManualClock(T0 * 1000);
    loop = new PollLoop(settings, clock, new PollingMetrics());
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

  beforeEach(() => {
    startLoop(64);
  });

  afterEach(() => {
    loop.beforeApplicationShutdown();
  });

  it('polls a machine once an interval', async () => {
    const machine = new HeldMachine('M-1');
    loop.add(machine);
    await settle();
    expect(machine.polls).toBe(0);
    for (let round = 0; round < 4; round += 1) {
      await moveTo(machine.firstTurnSeconds + round * 60);
      expect(machine.polls).toBe(round + 1);
      machine.answer();
      await settle();
    }
  });

  it('skips the turns of a machine whose answer is still awaited', async () => {
    const machine = new HeldMachine('M-1');
    loop.add(machine);
    await settle();
    await moveTo(machine.firstTurnSeconds);
    await moveTo(machine.firstTurnSeconds + 150);
    expect(machine.inFlight).toBe(1);
    machine.answer();
    await settle();
    expect(machine.polls).toBe(1);
    await moveTo(machine.firstTurnSeconds + 180);
    expect(machine.polls).toBe(2);
  });

  it('leaves a machine alone for as long as the service asked', async () => {
    const machine = new HeldMachine('M-1');
    loop.add(machine);
    await settle();
    await moveTo(machine.firstTurnSeconds);
    machine.answer(100_000);
    await settle();
    await moveTo(machine.firstTurnSeconds + 99);
    expect(machine.polls).toBe(1);
    await moveTo(machine.firstTurnSeconds + 120);
    expect(machine.polls).toBe(2);
  });

  it('never has more polls under way than it may', async () => {
    loop.beforeApplicationShutdown();
    startLoop(3);
    const machines = Array.from({ length: 10 }, (_, index) => new HeldMachine(`M-${index}`));
    for (const machine of machines) loop.add(machine);
    await settle();
    await moveTo(T0 + 60);
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

  it('polls the machine that is due first once there is room, and nobody who has left', async () => {
    loop.beforeApplicationShutdown();
    startLoop(1);
    const machines = Array.from({ length: 4 }, (_, index) => new HeldMachine(`M-${index}`));
    const [first, second, third, fourth] = machines.toSorted(
      (a, b) => a.firstTurnSeconds - b.firstTurnSeconds,
    );
    for (const machine of machines) loop.add(machine);
    await settle();
    await moveTo(T0 + 60);
    second!.ending.abort();
    first!.answer();
    await settle();
    expect([first, second, third, fourth].map((machine) => machine!.polls)).toEqual([1, 0, 1, 0]);
  });

  it('goes on after a poll that threw, and logs the error with its stack', async () => {
    const error = jest.spyOn(Logger.prototype, 'error').mockReturnValue(undefined);
    const broken = new Error('a defect');
    const machine = new HeldMachine('M-1');
    const poll = jest.spyOn(machine, 'poll').mockRejectedValue(broken);
    loop.add(machine);
    await settle();
    await moveTo(machine.firstTurnSeconds);
    expect(error).toHaveBeenCalledWith({ msg: 'poll failed', machineId: 'M-1', err: broken });
    await moveTo(machine.firstTurnSeconds + 60);
    expect(poll).toHaveBeenCalledTimes(2);
    jest.restoreAllMocks();
  });

  it('stops polling a machine whose signal has aborted', async () => {
    const machine = new HeldMachine('M-1');
    loop.add(machine);
    await settle();
    machine.ending.abort();
    await moveTo(machine.firstTurnSeconds + 120);
    expect(machine.polls).toBe(0);
  });

  it('stops polling when the application stops', async () => {
    const machine = new HeldMachine('M-1');
    loop.add(machine);
    await settle();
    loop.beforeApplicationShutdown();
    await moveTo(machine.firstTurnSeconds + 120);
    expect(machine.polls).toBe(0);
  });
});
