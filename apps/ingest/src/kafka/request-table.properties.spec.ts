import fc from 'fast-check';
import { type Claim, type Receipt, type Remembered, RequestTable } from './request-table.js';

const CAPACITY = 8;
const TOPICS = ['erp.work-orders.v1', 'mes.downtime-reasons.v1'];
const HOLDERS = ['a', 'b', 'c'].map((name) => ({
  transactionalId: name,
  incarnation: `${name}-1`,
}));

/** Many of them have the same first slot, which the lowest bits of four bytes choose. */
const key = fc
  .tuple(fc.constantFrom(0, 1, 30, 31), fc.nat(3))
  .map(([first, other]) => Buffer.from([first, ...Array<number>(16).fill(0), other]))
  .map((bytes) => bytes.toString('base64url'));
const offset = fc.integer({ min: 0, max: Number.MAX_SAFE_INTEGER });
const claim = fc
  .tuple(fc.constantFrom(...HOLDERS), offset)
  .map(([holder, at]) => ({ claim: { ...holder, offset: at } }));
const receipt = fc
  .record({
    topic: fc.constantFrom(...TOPICS),
    partition: fc.nat(1000),
    offset,
    digest: fc
      .uint8Array({ minLength: 18, maxLength: 18 })
      .map((bytes) => Buffer.from(bytes).toString('base64url')),
  })
  .map((place) => ({ receipt: place }));
const what: fc.Arbitrary<{ claim: Claim; receipt?: never } | { receipt: Receipt; claim?: never }> =
  fc.oneof(claim, receipt);
const step = fc.oneof(
  { weight: 6, arbitrary: fc.record({ set: key, what }) },
  { weight: 3, arbitrary: fc.record({ delete: key }) },
  { weight: 1, arbitrary: fc.record({ forget: fc.integer({ min: 10, max: 40 }) }) },
);

it('has the same entries as a map, in its order', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60, size: 'max' }), fc.array(key), (steps, others) => {
      const table = new RequestTable(CAPACITY, TOPICS);
      const model = new Map<string, Remembered>();
      // keys of the ring's entries, empty for deleted ones
      let order: string[] = [];
      let timestampMs = 0;
      const forgetFirst = (): Remembered | undefined => {
        const first = order.shift() ?? '';
        const known = model.get(first);
        if (first !== '') model.delete(first);
        return known;
      };
      for (const it of steps) {
        timestampMs += 1;
        if ('set' in it) {
          const known = { timestampMs, ...it.what };
          let forgotten: Remembered | undefined;
          if (!model.has(it.set)) {
            if (order.length === CAPACITY) forgotten = forgetFirst();
            order.push(it.set);
          }
          model.set(it.set, known);
          expect(table.set(it.set, known)).toEqual(forgotten);
        } else if ('delete' in it) {
          table.delete(it.delete);
          model.delete(it.delete);
          order = order.map((name) => (name === it.delete ? '' : name));
        } else {
          const untilMs = timestampMs - it.forget;
          table.forgetUntil(untilMs);
          while (order[0] !== undefined) {
            const known = model.get(order[0]);
            if (known !== undefined && known.timestampMs > untilMs) break;
            forgetFirst();
          }
        }
      }
      expect(table.size).toBe(model.size);
      for (const name of [...model.keys(), ...others]) {
        expect(table.get(name)).toEqual(model.get(name));
      }
    }),
    { numRuns: 60 * Number(process.env.PROPERTY_DEPTH ?? 1) },
  );
});

it('ignores keys and digests that are not hashes, and records of other topics', () => {
  const table = new RequestTable(CAPACITY, TOPICS);
  const hash = Buffer.alloc(18, 7).toString('base64url');
  const place = { topic: TOPICS[0] ?? '', partition: 0, offset: 1, digest: hash };
  table.set('f3b1c5a2-8c1e-4b52-9a54-6f0f6f1b1f00', { timestampMs: 1, receipt: place });
  table.set(hash, { timestampMs: 1, receipt: { ...place, topic: 'of nobody' } });
  table.set(hash, { timestampMs: 1, receipt: { ...place, digest: 'short' } });
  expect(table.size).toBe(0);
  expect(table.get(hash)).toBeUndefined();
});
