import { once } from 'node:events';
import { Worker } from 'node:worker_threads';

export interface Vitals {
  /** The most of its time on a core that the main thread has used before an answer of `/health/live`. */
  longestMs: number;
  /** How much more than at first the process has had in memory at a time. */
  growthBytes: number;
}

/**
 * In a thread of its own: what the test is busy with must not count. Who reads the figures waits for an answer that was
 * asked for after that; the delay is the interval of sampling, which nothing waits for. What keeps the event loop from
 * answering uses a core: counted so, a busy machine that lets the process wait for one adds nothing.
 */
const WATCH = `
const { readFileSync } = require('node:fs');
const { setTimeout: delay } = require('node:timers/promises');
const { parentPort, workerData: { pid, url } } = require('node:worker_threads');
const residentBytes = () =>
  Number(/VmRSS:\\s+(\\d+) kB/.exec(readFileSync('/proc/' + pid + '/status', 'utf8'))[1]) * 1024;
// in hundredths of a second; the name, in parentheses, may hold blanks
const busyMs = () => {
  const stat = readFileSync('/proc/' + pid + '/task/' + pid + '/stat', 'utf8');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) * 10;
};
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
    const busyBefore = busyMs();
    await (await fetch(url + '/health/live')).text();
    longestMs = Math.max(longestMs, busyMs() - busyBefore);
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
