import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { LOCAL, ROOT } from '../setup/command.mjs';

const SENDERS = join(ROOT, 'demo/ingest-senders.json');
const SENDER = 'demo-erp';
/** Of a demo that listens on loopback alone. */
export const CALLBACK_SECRET = 'demo-callback-secret';
/** What such an ERP wants to know, in its own words. */
const MAPPING = `{
  "AUFNR": data.orderId,
  "ARBPL_MACHINE": data.machineId,
  "STATUS": $substringBefore($substringAfter(type, "."), "."),
  "REASON": data.code
}`;

/** Writes the demo's senders with a callback to that port; yields the file's path. */
export async function demoSenders(port) {
  const { senders } = JSON.parse(await readFile(SENDERS, 'utf8'));
  const callback = {
    url: `http://127.0.0.1:${port}/outcomes`,
    hmacSecret: CALLBACK_SECRET,
    mapping: MAPPING,
  };
  senders[SENDER] = { ...senders[SENDER], callback };
  const path = join(LOCAL, 'start-senders.json');
  await mkdir(LOCAL, { recursive: true });
  await writeFile(path, JSON.stringify({ senders }, null, 2));
  return path;
}
