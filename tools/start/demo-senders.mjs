import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { LOCAL, ROOT } from '../setup/command.mjs';

const SENDERS = join(ROOT, 'demo/ingest-senders.json');
const SENDER = 'demo-erp';
/** For a demo that listens on loopback only. */
export const CALLBACK_SECRET = 'demo-callback-secret';
/** Maps an outcome to the fields of such an ERP. */
const MAPPING = `{
  "AUFNR": data.orderId,
  "ARBPL_MACHINE": data.machineId,
  "STATUS": $substringBefore($substringAfter(type, "."), "."),
  "REASON": data.code
}`;

/** Writes the demo's senders, with a callback to that port. Yields the file's path. */
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
