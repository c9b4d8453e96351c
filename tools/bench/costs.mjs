import { readFile } from 'node:fs/promises';
import { cpus } from 'node:os';

/** The name of the figure for the CPU of all other programs. */
export const OTHERS = 'others: % of a core';

// /proc on Linux counts the time of a process in hundredths of a second
const TICKS_PER_SECOND = 100;

/**
 * The CPU that every process has used so far, and how many messages are done by `count`. The broker's CPU is NaN if the
 * bench did not start the broker, or this is not Linux.
 */
export async function readCosts({ service, brokerPid }, app, count) {
  const [metrics, report, broker] = await Promise.all([
    readMetrics(app.url),
    service.report(),
    processCpuSeconds(brokerPid),
  ]);
  const cpu = {
    process: metrics.cpuSeconds,
    service: report.cpuSeconds,
    broker,
    machine: busySeconds(),
  };
  return { atMs: performance.now(), done: await count(), outcomes: metrics.outcomes, cpu };
}

/**
 * The costs between two readings: messages done, CPU seconds of each process, microseconds of the measured process a
 * message, and CPU as percent of one core. For a bridge, messages are those that it has counted: offsets of its
 * outcomes also count the ends of its transactions.
 */
export function costsBetween(start, end) {
  const seconds = (end.atMs - start.atMs) / 1000;
  const used = (name) => end.cpu[name] - start.cpu[name];
  const cpuSeconds = { process: used('process'), service: used('service'), broker: used('broker') };
  const ours = Object.values(cpuSeconds).filter(Number.isFinite);
  const others = used('machine') - ours.reduce((sum, value) => sum + value, 0);
  const shares = Object.entries({ ...cpuSeconds, others }).map(([name, value]) => {
    return [name, (value / seconds) * 100];
  });
  const messages = end.outcomes - start.outcomes || end.done - start.done;
  const cpuUs = (cpuSeconds.process * 1e6) / messages;
  return { messages, cpuSeconds, cpuUs, corePercent: Object.fromEntries(shares) };
}

/**
 * @returns `{cpuSeconds, rssMb}` of a process with Prometheus's usual metrics (megabytes of 2^20 bytes); for a bridge
 *   also how many `outcomes` it has published and how many `partitions` of its inputs it has
 */
export async function readMetrics(url) {
  const text = await (await fetch(`${url}/metrics`)).text();
  const metric = (name) => Number(new RegExp(`^${name} (\\S+)`, 'm').exec(text)?.[1]);
  return {
    cpuSeconds: metric('process_cpu_seconds_total'),
    rssMb: metric('process_resident_memory_bytes') / 1_048_576,
    outcomes: sumOf(text, 'machine_bridge_command_outcomes_total'),
    partitions: [...text.matchAll(/^machine_bridge_input_lag_messages\{/gm)].length,
  };
}

function sumOf(text, name) {
  const values = text.matchAll(new RegExp(`^${name}\\{.*\\} (\\S+)$`, 'gm'));
  return [...values].reduce((sum, [, value]) => sum + Number(value), 0);
}

/** Busy time of all cores together. */
function busySeconds() {
  const busyMs = cpus().map(({ times: { user, nice, sys, irq } }) => user + nice + sys + irq);
  return busyMs.reduce((sum, ms) => sum + ms, 0) / 1000;
}

/** CPU of a process since its start; NaN if this is not Linux. */
export async function processCpuSeconds(pid) {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '');
  // the name, in parentheses, may hold blanks; user and system time are the 12th and 13th field after it
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND;
}

/** The highest resident set that the process ever had, in megabytes of 2^20 bytes; NaN if this is not Linux. */
export async function peakRssMb(pid) {
  const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '');
  return Number(/^VmHWM:\s+(\d+) kB/m.exec(status)?.[1]) / 1024;
}
