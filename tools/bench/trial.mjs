import { createTopics, endOffsets, withTopics } from './kafka/topics.mjs';
import { produce } from './kafka/produce.mjs';
import { readRecords } from './kafka/read-records.mjs';
import { recordsOf } from './load.mjs';
import { readOutcome } from './outcomes.mjs';
import { startService } from './programs.mjs';

export const SERVICE_LATENCY_MS = 20;
const OUTCOMES = 'machine.command-outcomes.v1';

/**
 * Runs `body` with what a command flow needs: its topics are `trial.input`, with `partitions` partitions, and
 * `trial.outcomes`.
 */
export function withTrial(bench, { flow, partitions, ...options }, body) {
  return withService(bench, { topics: [OUTCOMES], ...options }, async (trial) => {
    const [input, outcomes] = [flow.topic, OUTCOMES].map((topic) => `${trial.prefix}${topic}`);
    await createTopics(bench.admin, [input], partitions);
    return body({ ...trial, input, outcomes });
  });
}

/**
 * Runs `body` with a new service and new topics, and removes them afterwards.
 *
 * `trial.start(program)` registers a started program, which is stopped at the end.
 */
export function withService(bench, { topics, ...options }, body) {
  return withTopics(bench.admin, topics, async (prefix) => {
    const service = await startService(bench, { latencyMs: SERVICE_LATENCY_MS, ...options });
    const running = [service];
    const start = async (program) => {
      const app = await program;
      running.unshift(app);
      return app;
    };
    try {
      return await body({ ...bench, prefix, service, start });
    } finally {
      for (const app of running) await app.stop();
    }
  });
}

/** Writes messages, which wait for a bridge. */
export function fill(trial, flow, count, machineOf) {
  return produce(trial.kafka, trial.input, count, recordsOf(flow, machineOf));
}

export function readOutcomes(trial) {
  return readRecords(trial, trial.outcomes, readOutcome);
}

/** When Kafka stored each input message from these offsets on: a function of partition and offset, in ms. */
export async function readInputTimes(trial, from) {
  const times = from.map(() => new Map());
  const note = ({ partition, message }) =>
    times[partition].set(Number(message.offset), Number(message.timestamp));
  await readRecords(trial, trial.input, note, from);
  return (partition, offset) => times[partition].get(offset);
}

export function inputEnds(trial) {
  return endOffsets(trial.admin, trial.input);
}
