import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { ROOT } from '../setup/command.mjs';

const IDOC = join(ROOT, 'demo/sap-loipro05-order-1895938.xml');
const NEXT_LIST_MS = 6000;
const WRONG_EVERY = 5;

/** Machines of the orders in demo/ and docs/erp. A list for one of them would remove these orders. */
const MACHINES_WITH_ORDERS = new Set(['M-001', 'M-003', 'M-004', 'M-005']);

/**
 * An ERP that posts one real SAP order by HTTP, then writes lists for one machine after another, sometimes a wrong one.
 */
export function createErp({ send, machines, clock, ingestUrl, signal }) {
  const ids = machines
    .map(({ machineId }) => machineId)
    .filter((machineId) => !MACHINES_WITH_ORDERS.has(machineId));
  let number = 4710;

  const nextList = (length) => Array.from({ length }, () => String((number += 1)));

  async function run() {
    const document = await readFile(IDOC);
    if (!(await isPosted(document))) {
      const headers = { 'content-type': 'application/xml' };
      await send('erp.work-orders.v1', '1895938', document, headers);
    }
    for (let round = 0; ; round += 1) {
      try {
        await delay(NEXT_LIST_MS, undefined, { signal });
        await sendList(round);
      } catch {
        return;
      }
    }
  }

  async function sendList(round) {
    const topic = 'erp.work-order-lists.v1';
    if (round % WRONG_EVERY === WRONG_EVERY - 1) {
      await send(topic, 'M-404', { machineId: 'M-404', workingOrders: nextList(1) });
      return;
    }
    const machineId = ids[round % ids.length];
    const list = {
      machineId,
      workingOrders: nextList(1 + (round % 4)),
      issuedAt: clock.nowSeconds(),
    };
    await send(topic, machineId, list);
  }

  /** Posts by HTTP, as an ERP without a Kafka client does; false if the user has configured other senders. */
  async function isPosted(body) {
    const headers = {
      authorization: 'Bearer demo-ingest-token',
      'content-type': 'application/xml',
    };
    const answer = await fetch(`${ingestUrl}/orders`, { method: 'POST', headers, body, signal });
    return answer.status === 202;
  }

  return { run };
}
