import { once } from 'node:events';
import { Worker } from 'node:worker_threads';

export interface Vitals {
  /** The longest time that the main thread kept `/health/live` waiting. */
  longestMs: number;
  /** The most memory of the process in addition to its first value. */
  growthBytes: number;
}

/**
 * Runs in a separate thread, so that the test's own work does not count. A reader of the figures waits for an answer
 * that was requested after the read began; the delay is the sampling interval. The time that either thread waited for a
 * core is subtracted: a busy computer adds nothing, but a call that blocks the event loop without using a core shows.
 * Where this thread did not tick, the whole computer may have stood still: only what the main thread ran counts.
 */
const WATCH = `
const { readFileSync } = require('node:fs');
const { setTimeout: delay } = require('node:timers/promises');
const { parentPort, workerData: { pid, url } } = require('node:worker_threads');
const residentBytes = () =>
  Number(/VmRSS:\\s+(\\d+) kB/.exec(readFileSync('/proc/' + pid + '/status', 'utf8'))[1]) * 1024;
// on a core, and waiting for one: the first two fields, in nanoseconds
const coreTimes = (thread) => {
  const [ran, waited] = readFileSync(thread + '/schedstat', 'utf8').split(' ');
  return { ranMs: Number(ran) / 1e6, waitedMs: Number(waited) / 1e6 };
};
const ownMs = () => performance.now() - coreTimes('/proc/thread-self').waitedMs;
const ofMain = () => coreTimes('/proc/' + pid + '/task/' + pid);
let ticked = { ownMs: ownMs(), ...ofMain() };
let totalMs = 0;
const servedMs = () => {
  const now = { ownMs: ownMs(), ...ofMain() };
  const gapMs = now.ownMs - ticked.ownMs;
  const isStandstill = gapMs > 200;
  totalMs += isStandstill ? now.ranMs - ticked.ranMs : gapMs - (now.waitedMs - ticked.waitedMs);
  ticked = now;
  return totalMs;
};
setInterval(servedMs, 50).unref();
let longestMs = 0;
let mostBytes = 0;
const firstBytes = residentBytes();
let isWanted = false;
parentPort.on('message', () => {
  isWanted = true;
});
(async () => {
  for (;;) {
    const isLast = isWanted;
    const askedMs = servedMs();
    await (await fetch(url + '/health/live')).text();
    longestMs = Math.max(longestMs, servedMs() - askedMs);
    mostBytes = Math.max(mostBytes, residentBytes());
    if (isLast) parentPort.postMessage({ longestMs, growthBytes: mostBytes - firstBytes });
    isWanted &&= !isLast;
    await delay(100);
  }
})();`;

/** Asks for the health of a process ten times a second, and reads its memory. */
export class VitalsWatch {
  private readonly worker: Worker;

  constructor(pid: number, url: string) {
    this.worker = new Worker(WATCH, { eval: true, workerData: { pid, url } });
  }

  async read(): Promise<Vitals> {
    const answered = once(this.worker, 'message') as Promise<[Vitals]>;
    this.worker.postMessage('read');
    const [vitals] = await answered;
    return vitals;
  }

  async stop(): Promise<void> {
    await this.worker.terminate();
  }
}
