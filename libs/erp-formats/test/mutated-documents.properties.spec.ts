import { readdirSync, readFileSync } from 'node:fs';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { OrderDocument } from '../src/document/order-format.js';
import { readOrderDocument } from '../src/read-orders.js';

/** Documents of each format; by default, 100 times the depth. */
const CASES = Number(
  process.env['MUTATIONS'] ?? 100 * Number(process.env['PROPERTY_DEPTH'] ?? '1'),
);
const SEED = Number(process.env['MUTATIONS_SEED'] ?? '1');
const MOST_CPU_MS = 100;
const MOST_GROWTH_BYTES = 16_777_216;
const LONGEST_DETAIL = 4096;
const UMH_TOPIC = 'umh.v1.acme.north.hall-3.line-1.cell-2._analytics.work-order.start';
/** Replacements for a JSON value, or for the text between two tags. */
const ODD_VALUES = [
  ...'null true 0 -1 1e400 9007199254740993 0.1 "" [] {} [[]]'.split(' '),
  '" "',
  ...['"0000-00-00T00:00:00Z"', '"/Date(99999999999999999)/"', '"2024-02-30T25:61:61+99:99"'],
  ...['"\\u0000"', '"\\ud800"', '{"__proto__":{"orderId":"1"}}', '{"constructor":null}'],
  ...[`"${'9'.repeat(5000)}"`, '['.repeat(300) + ']'.repeat(300), `[${'{"a":1},'.repeat(500)}1]`],
  `{${'"a":{'.repeat(90)}${'}'.repeat(90)}}`,
];
const ODD_TEXT = [
  ...['', '\0', '&#0;', '<a>', '&x;', '<![CDATA[', ']]>', '<!DOCTYPE a>', '\ufeff', '{', '"'],
];

/** mulberry32: the same seed gives the same documents. */
function randomOf(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below;
  };
}

type Mutation = (text: string, random: (below: number) => number) => string;

const VALUE = /"(?:[^"\\]|\\.)*"(?!\s*:)|-?\d+(?:\.\d+)?|true|false|null/g;
const KEY = /"(?:[^"\\]|\\.)*"(?=\s*:)/g;
const CONTENT = /(?<=>)[^<>]+(?=<)/g;
const TAG = /(?<=<\/?)[\w:]+/g;

const replaced =
  (pattern: RegExp, by: (found: string[], random: (below: number) => number) => string): Mutation =>
  (text, random) => {
    const found = [...text.matchAll(pattern)];
    const one = found[random(found.length || 1)];
    if (one === undefined) return text;
    const texts = found.map(([match]) => match);
    return text.slice(0, one.index) + by(texts, random) + text.slice(one.index + one[0].length);
  };

const oneOf = (values: readonly string[], random: (below: number) => number): string =>
  values[random(values.length)] ?? '';
const odd = (_: string[], random: (below: number) => number): string => oneOf(ODD_VALUES, random);

const MUTATIONS: readonly Mutation[] = [
  replaced(VALUE, odd),
  replaced(VALUE, oneOf),
  replaced(KEY, oneOf),
  replaced(KEY, () => '"__proto__"'),
  replaced(CONTENT, odd),
  replaced(CONTENT, oneOf),
  replaced(TAG, oneOf),
  (text, random) => text.slice(0, random(text.length)),
  (text, random) => {
    const [from, until] = [random(text.length), random(text.length)].sort((a, b) => a - b);
    return text.slice(0, until) + text.slice(from);
  },
  (text, random) => {
    const at = random(text.length);
    return text.slice(0, at) + oneOf(ODD_TEXT, random) + text.slice(at + random(3));
  },
];

/** Makes up to three changes to a document. */
function mutated(text: string, random: (below: number) => number): Buffer {
  let changed = text;
  for (let left = 1 + random(3); left > 0; left -= 1) {
    changed = MUTATIONS[random(MUTATIONS.length)]?.(changed, random) ?? changed;
  }
  const body = Buffer.from(changed);
  if (random(8) === 0 && body.length > 0) body[random(body.length)] = random(256);
  return body;
}

/** CPU time of reading, so that the load of other programs does not count. */
function cpuMsOf(read: () => unknown): number {
  const before = process.cpuUsage();
  read();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

function heapBytes(): number {
  collectGarbage();
  return process.memoryUsage().heapUsed;
}

const files = [
  ...readdirSync('examples/orders').map((name) => `examples/orders/${name}`),
  'libs/erp-formats/test/fixtures/b2mml-v07-sync-work-schedule.json',
];
/** Bytes of the heap after some documents. Measured once, because a collection takes as long as a hundred documents. */
let early = NaN;

describe.each(files)('%s, changed at random', (file) => {
  it('is read or rejected, within a bounded time', () => {
    const text = readFileSync(file, 'utf8');
    const random = randomOf(SEED);
    for (let number = 0; number < CASES; number += 1) {
      const body = mutated(text, random);
      const document: OrderDocument = {
        contentType: null,
        body,
        // some documents have no topic and are recognised by their fields
        sourceTopic: file.includes('umh') && random(2) === 0 ? UMH_TOPIC : null,
        recordedAt: 1_710_753_302,
      };
      const read = () => readOrderDocument(document, { timeZone: 'Europe/Berlin' });
      const place = () =>
        `number ${number} of seed ${SEED}: ${body.toString('latin1').slice(0, 2000)}`;
      let cpuMs = cpuMsOf(() => {
        try {
          const result = read();
          if (!result.ok && result.rejection.detail.length > LONGEST_DETAIL)
            throw new Error('a long detail');
        } catch (error) {
          throw new Error(place(), { cause: error });
        }
      });
      // a garbage collection may fall into one of the readings
      for (let again = 0; cpuMs > MOST_CPU_MS && again < 3; again += 1) cpuMs = cpuMsOf(read);
      if (cpuMs > MOST_CPU_MS) throw new Error(`${cpuMs} ms, ${place()}`);
      if (file === files[0] && number === Math.floor(CASES / 5)) early = heapBytes();
    }
  });
});

describe('all of them together', () => {
  it('leave a bounded amount of memory behind', () => {
    expect(heapBytes() - early).toBeLessThan(MOST_GROWTH_BYTES);
  });
});
