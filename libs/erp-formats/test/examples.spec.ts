import { readdirSync, readFileSync } from 'node:fs';
import type { OrderMessage } from '#libs/contracts';
import { BoundedExpressions, expressionFault } from '#libs/expressions';
import { FORMATS, readOrderDocument } from '../src/read-orders.js';
import { OrderMapping, parseOrderMapping } from '../src/mapping/order-mapping.js';
import type { OrderDocument } from '../src/document/order-format.js';

const OTHER_PAGES = new Set(['index.md', 'enrichment.md']);
const PAGES = readdirSync('docs/erp').filter((name) => !OTHER_PAGES.has(name));

interface Block {
  role: string;
  /** `name=value` behind the role. */
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
    return await orders.read(document, { timeZone });
  } finally {
    orders.close();
  }
}

function exampleOrder(page: string): string {
  const name = page.replace('.md', '');
  const file = readdirSync('examples/orders').find((entry) => entry.split('.')[0] === name);
  return readFileSync(`examples/orders/${file}`, 'utf8');
}

describe('the documentation of formats', () => {
  it('has a page for each of them, and one for mappings', () => {
    expect(PAGES).toHaveLength(FORMATS.length + 1);
  });

  it.each(PAGES)('has an example on %s that is read as the page says', async (page) => {
    const blocks = blocksOf(page);
    const [document, messages, mapping] = ['document', 'messages', 'mapping'].map((role) =>
      blocks.find((block) => block.role === role),
    );
    // what a reader posts to the demo
    if (mapping === undefined) expect(exampleOrder(page)).toBe(document!.text);
    const expected = JSON.parse(messages!.text) as OrderMessage[];

    expect(await read(document!, mapping)).toEqual({ ok: true, value: expected });
  });
});
