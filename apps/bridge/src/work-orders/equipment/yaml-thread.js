// The program of the thread that parses a YAML file; see equipment.ts. Plain JavaScript, which node runs from
// here as well as from dist/.
import { parentPort, workerData } from 'node:worker_threads';
import { parse } from 'yaml';

const { text, options } = workerData;
try {
  parentPort.postMessage({ content: parse(text, options) });
} catch (error) {
  parentPort.postMessage({ fault: String(error?.message) });
}
