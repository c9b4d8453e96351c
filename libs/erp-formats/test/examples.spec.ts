import { readdirSync, readFileSync } from 'node:fs';
import type { OrderMessage } from '#libs/contracts';
import { BoundedExpressions, expressionFault } from '#libs/expressions';
import { FORMATS, readOrderDocument } from '../src/read-orders.js';
import { OrderMapping, parseOrderMapping } from '../src/mapping/order-mapping.js';
import type { OrderDocument } from '../src/document/order-format.js';
import { readMessages } from './read-messages.js';

const OTHER_PAGES = new Set(['index.md', 'enrichment.md']);
const PAGES = readdirSync('docs/erp').filter((name) => !OTHER_PAGES.has(name));

interface Block {
  role: string;
  /** `name=value` after the role. */
  settings: Record<string, string>;
  text: string;
}

function blocksOf(page: string): Block[] {
  const markdown = readFileSync(`docs/erp/${page}`, 'utf8');
  return [...markdown.matchAll(/^```\w+ (\w+)(.*)\n([^]*?)^```$/gm)].map(
    ([, role = '', settings = '', text = '']) => ({
      role,
      text,
      settings: Object.fromEntries(
        settings
          .trim()
          .split(' ')
          .map((setting) => setting.split('=') as [string, string]),
      ),
    }),
  );
}

async function read({ text, settings }: Block, mapping: Block | undefined) {
  const { contentType = null, topic = null, recordedAt, timeZone = 'UTC' } = settings;
  const document: OrderDocument = { contentType, body: Buffer.from(text), sourceTopic: topic };
  if (recordedAt !== undefined) document.recordedAt = Number(recordedAt);
  if (mapping === undefined) return readOrderDocument(document, { timeZone });
  const entries = parseOrderMapping(mapping.text, 'yaml', expressionFault);
  const orders = new OrderMapping(entries, new BoundedExpressions());
  try {
    return await orders.readWithMapping(document, { timeZone });
  } finally {
    orders.closeExpressions();
  }
}

function exampleOrder(page: string): string {
  const name = page.replace('.md', '');
  const file = readdirSync('examples/orders').find((entry) => entry.split('.')[0] === name);
  return readFileSync(`examples/orders/${file}`, 'utf8');
}

describe('the documentation of formats', () => {
  it('has a page for each format, and one for mappings', () => {
    expect(PAGES).toHaveLength(FORMATS.length + 1);
  });

  it.each(PAGES)('has an example on %s that is read as the page says', async (page) => {
    const blocks = blocksOf(page);
    const [document, messages, mapping] = ['document', 'messages', 'mapping'].map((role) =>
      blocks.find((block) => block.role === role),
    );
    // the document that readers post to the demo
    if (mapping === undefined) expect(exampleOrder(page)).toBe(document!.text);
    const expected = JSON.parse(messages!.text) as OrderMessage[];

    expect(await read(document!, mapping)).toEqual({ ok: true, value: expected });
  });
});

/** A code in a table of statuses, with the heading of its column and the status of its row. */
type DocumentedStatus = [page: string, heading: string, code: string, status: string];

const cellsOf = (row: string): string[] =>
  row
    .split('|')
    .slice(1, -1)
    .map((cell) => cell.trim());

/** Columns of codes come before the column of their status. */
function statusesOn(page: string): DocumentedStatus[] {
  const text = readFileSync(`docs/erp/${page}`, 'utf8');
  const tables = [...text.matchAll(/^(\|.*\| status +\|)\n\|[- |]+\n((?:\|.*\n)+)/gm)];
  return tables.flatMap(([, head = '', rows = '']) => {
    const headings = cellsOf(head);
    return rows
      .trim()
      .split('\n')
      .map(cellsOf)
      .flatMap((cells) =>
        cells.flatMap((cell, column) => {
          const status = cells[headings.indexOf('status', column)] ?? '';
          const codes = [...cell.matchAll(/`([^`]+)`/g)].map(([, code = '']) => code);
          return codes.map((code): DocumentedStatus => [
            page,
            headings[column] ?? '',
            code,
            status,
          ]);
        }),
      );
  });
}

const sapIdoc = (code: string): string =>
  '<LOIPRO05><IDOC><E1AFKOL><AUFNR>1</AUFNR>' +
  `<E1JSTKL><STAT>${code}</STAT></E1JSTKL></E1AFKOL></IDOC></LOIPRO05>`;

/** Makes an order with nothing but a status code, by the page and the heading of the code. */
const ORDERS: Record<string, (code: string) => object | string> = {
  'b2mml.md state': (DispatchStatus) => ({ JobOrder: { ID: '1', DispatchStatus } }),
  'b2mml.md command': (Command) => ({ JobOrder: { ID: '1', Command } }),
  'dynamics.md `ProductionOrderStatus`': (ProductionOrderStatus) => ({
    ...{ ProductionOrderNumber: '1', ProductionOrderStatus },
  }),
  'erpnext.md status of the order': (status) => ({ doctype: 'Work Order', name: '1', status }),
  'odoo.md state of the order': (state) => ({ _model: 'mrp.production', name: '1', state }),
  'odoo.md state of the work order': (state) => ({
    ...{ id: 1, state, workcenter_id: [1, 'FR01'], production_id: [1, '1'] },
  }),
  'opc-job-order.md method': (method) => ({ [method]: { JobOrderID: '1' } }),
  'opc-job-order.md state of the list': (StateText) => ({
    ...{ JobOrder: { JobOrderID: '1' }, State: [{ StateText }] },
  }),
  'oracle.md code': (code) => ({ WorkOrderNumber: '1', WorkOrderSystemStatusCode: `ORA_${code}` }),
  'sap-idoc.md system status': sapIdoc,
  'sap-odata.md order': (flag) => ({ ManufacturingOrder: '1', [flag]: 'X' }),
  'sap-odata.md operation': (flag) => ({
    ...{ ManufacturingOrder: '1', ManufacturingOrderOperation: '1', WorkCenter: 'A', [flag]: 'X' },
  }),
  'sap-odata-v4.md field': (field) => ({
    ...{ ProductionOrder: '1', OrderActualReleaseDate: null },
    [field]: field.startsWith('Is') ? true : '2024-03-18',
  }),
};

describe('the statuses of a format', () => {
  const documented = PAGES.flatMap(statusesOn);

  it('are documented for every format that has codes for them', () => {
    const headings = documented.map(([page, heading]) => `${page} ${heading}`);
    expect([...new Set(headings)].sort()).toEqual(Object.keys(ORDERS).sort());
  });

  const meaning = documented.filter(([, , , status]) => !status.startsWith('as '));
  it.each(meaning)('are those of its page: %s, %s, %s is %s', (page, heading, code, status) => {
    const order = ORDERS[`${page} ${heading}`]!(code);
    const text = typeof order === 'string' ? order : JSON.stringify(order);
    const [message] = readMessages(text, { recordedAt: 1 });
    expect(message!.order.status ?? message!.order.operations?.[0]?.status).toBe(status);
  });
});
