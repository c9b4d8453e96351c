import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { YAML_OPTIONS } from '#libs/erp-formats';

const PROGRAM = new URL('./yaml-thread.js', import.meta.url);
/** 50,000 entries take 3 s, and 17 s where all processors are busy. */
const DEADLINE_MS = 120_000;
/** 50,000 entries take less than 300 MiB. */
const RESOURCE_LIMITS = { maxOldGenerationSizeMb: 1024 };

/**
 * Parses YAML in a thread of its own: in that of the process, heartbeats and answers would wait for it.
 *
 * @throws Error with what the parser says, or that it has taken too long or too much memory
 */
export async function readYamlAside(text: string): Promise<unknown> {
  const worker = new Worker(PROGRAM, {
    workerData: { text, options: YAML_OPTIONS },
    resourceLimits: RESOURCE_LIMITS,
  });
  worker.unref();
  const signal = AbortSignal.timeout(DEADLINE_MS);
  try {
    const [said] = (await once(worker, 'message', { signal })) as [
      { content: unknown } | { fault: string },
    ];
    if ('fault' in said) throw new Error(said.fault);
    return said.content;
  } catch (error) {
    if (!signal.aborted) throw error;
    throw new Error(`it takes longer than ${DEADLINE_MS / 1000} s`, { cause: error });
  } finally {
    await worker.terminate();
  }
}
