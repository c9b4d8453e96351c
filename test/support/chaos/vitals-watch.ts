import { once } from 'node:events';
import { Worker } from 'node:worker_threads';

export interface Vitals {
  /** The longest that the main thread has kept `/health/live` waiting. */
  longestMs: number;
  /** How much more than at first the process has had in memory at a time. */
  growthBytes: number;
}

/**
 * In a thread of its own: what the test is busy with must not count. Who reads the figures waits for an answer that was
 * asked for after that; the delay is the interval of sampling, which nothing waits for. Not counted is what either thread
 * waited for a core: a busy machine adds nothing, a call that blocks the event loop and needs no core shows.
 */
const WATCH = `
const { readFileSync } = require('node:fs');
const { setTimeout: delay } = require('node:timers/promises');
const { parentPort, workerData: { pid, url } } = require('node:worker_threads');
const residentBytes = () =>
  Number(/VmRSS:\\s+(\\d+) kB/.exec(readFileSync('/proc/' + pid + '/status', 'utf8'))[1]) * 1024;
// for a core, in its second field in nanoseconds
const waitedMs = (thread) => Number(readFileSync(thread + '/schedstat', 'utf8').split(' ')[1]) / 1e6;
const servedMs = () =>
  performance.now() - waitedMs('/proc/' + pid + '/task/' + pid) - waitedMs('/proc/thread-self');
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

/** Asks for the health of a process ten times a second, and looks at its memory. */
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
