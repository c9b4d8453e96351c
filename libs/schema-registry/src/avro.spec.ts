import avro from 'avsc';
import fc from 'fast-check';
import { avroReader } from './avro.js';

const LIST = {
  type: 'record',
  name: 'WorkOrderList',
  namespace: 'com.example.erp',
  fields: [
    { name: 'machineId', type: 'string' },
    { name: 'workingOrders', type: { type: 'array', items: 'string' } },
    { name: 'issuedAt', type: ['null', { type: 'long', logicalType: 'timestamp-millis' }] },
  ],
};

/** Reads a value that avsc has written. */
function read(schema: object | string, value: unknown): unknown {
  const type = avro.Type.forSchema(schema as avro.Schema, { wrapUnions: false });
  return JSON.parse(avroReader([JSON.stringify(schema)])(type.toBuffer(value)));
}

const bytes = (...values: number[]): Buffer => Buffer.from(values);

describe('a value in Avro', () => {
  it('is the JSON of the message', () => {
    const list = { machineId: 'M-1', workingOrders: ['4711', 'Größe "L"'], issuedAt: null };
    expect(read(LIST, list)).toEqual({ machineId: 'M-1', workingOrders: ['4711', 'Größe "L"'] });
  });

  it('has its times in RFC 3339', () => {
    const list = { machineId: 'M-1', workingOrders: [], issuedAt: 1_763_680_000_500 };
    expect(read(LIST, list)).toMatchObject({ issuedAt: '2025-11-20T23:06:40.500Z' });
    const time = (type: string, logicalType: string, value: number): unknown =>
      read({ type, logicalType }, value);
    expect(time('long', 'timestamp-micros', 1_763_680_000_123_456)).toBe(
      '2025-11-20T23:06:40.123Z',
    );
    expect(time('long', 'local-timestamp-millis', 0)).toBe('1970-01-01T00:00:00.000');
    expect(time('int', 'date', 20_412)).toBe('2025-11-20');
    expect(time('int', 'time-millis', 3_661_001)).toBe('01:01:01.001');
    // an unknown logical type is read as its Avro type
    expect(time('long', 'fortnights', 7)).toBe(7);
  });

  it('has the value of a union without its type', () => {
    const schema = {
      type: 'record',
      name: 'Reason',
      fields: [
        { name: 'reasonId', type: ['null', 'string', 'int'] },
        { name: 'endTime', type: ['null', 'long'] },
      ],
    };
    expect(read(schema, { reasonId: '22', endTime: 1_763_680_600 })).toEqual({
      reasonId: '22',
      endTime: 1_763_680_600,
    });
    expect(read(schema, { reasonId: 22, endTime: null })).toEqual({ reasonId: 22 });
  });

  it('may be of any type', () => {
    const schema = {
      type: 'record',
      name: 'All',
      namespace: 'a.b',
      fields: [
        { name: 'flag', type: 'boolean' },
        { name: 'float', type: 'float' },
        { name: 'double', type: 'double' },
        { name: 'bytes', type: 'bytes' },
        { name: 'fixed', type: { type: 'fixed', name: 'F', size: 2 } },
        { name: 'again', type: 'F' },
        { name: 'status', type: { type: 'enum', name: 'c.S', symbols: ['released', 'held'] } },
        { name: 'other', type: 'c.S' },
        { name: 'map', type: { type: 'map', values: ['null', 'int'] } },
      ],
    };
    const value = {
      ...{ flag: true, float: 0.5, double: -1.25, bytes: Buffer.from('a'), fixed: bytes(1, 2) },
      ...{ again: bytes(3, 4), status: 'held', other: 'released', map: { a: 1, b: null } },
    };
    expect(read(schema, value)).toEqual({
      ...value,
      ...{ bytes: 'YQ==', fixed: 'AQI=', again: 'AwQ=' },
    });
  });

  it('keeps integers exact, as strings where a number of JSON is not', () => {
    const long = avroReader(['"long"']);
    fc.assert(
      fc.property(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }), (value) => {
        const encoded: number[] = [];
        let rest = BigInt.asUintN(64, (value << 1n) ^ (value >> 63n));
        for (; rest >= 0x80n; rest >>= 7n) encoded.push(Number(rest & 0x7fn) | 0x80);
        encoded.push(Number(rest));
        const text = long(Buffer.from(encoded));
        const isSafe = Number.isSafeInteger(Number(value));
        expect(text).toBe(isSafe ? `${value}` : `"${value}"`);
      }),
    );
  });

  it('has its decimals as strings', () => {
    const decimal = avroReader([
      JSON.stringify({ type: 'bytes', logicalType: 'decimal', precision: 6, scale: 2 }),
    ]);
    expect(decimal(bytes(4, 0x04, 0xd2))).toBe('"12.34"');
    expect(decimal(bytes(2, 0xff))).toBe('"-0.01"');
    expect(decimal(bytes(0))).toBe('"0.00"');
  });

  it('may have types that are in schemas of their own', () => {
    const machine = {
      type: 'record',
      name: 'Machine',
      namespace: 'com.example',
      fields: [{ name: 'machineId', type: 'string' }],
    };
    const lists = {
      type: 'record',
      name: 'Lists',
      namespace: 'com.example',
      fields: [{ name: 'machines', type: { type: 'array', items: 'Machine' } }],
    };
    const text = avroReader([machine, lists].map((schema) => JSON.stringify(schema)))(
      bytes(2, 6, 77, 45, 49, 0),
    );
    expect(text).toBe('{"machines":[{"machineId":"M-1"}]}');
  });

  it('may contain itself', () => {
    const schema = {
      type: 'record',
      name: 'Node',
      fields: [{ name: 'next', type: ['null', 'Node'] }],
    };
    expect(read(schema, { next: { next: null } })).toEqual({ next: {} });
  });

  it('may have blocks with their sizes', () => {
    const array = avroReader(['{"type":"array","items":"int"}']);
    // two items in a block of two bytes, then the end
    expect(array(bytes(3, 4, 2, 4, 0))).toBe('[1,2]');
  });

  it.each([
    ['ends too early', '"string"', bytes(6, 77)],
    ['has a length below 0', '"bytes"', bytes(1)],
    ['has bytes left over', '"int"', bytes(2, 2)],
    ['has a branch that its union has not', '["null","int"]', bytes(4)],
    ['has a text that is not UTF-8', '"string"', bytes(2, 0xff)],
    ['has a number that does not end', '"long"', Buffer.alloc(12, 0xff)],
    ['has a symbol that its enum has not', '{"type":"enum","name":"E","symbols":["a"]}', bytes(4)],
    [
      'has a time that is no date',
      '{"type":"long","logicalType":"timestamp-millis"}',
      Buffer.from('ffffffffffffffffff01', 'hex'),
    ],
  ])('is refused where it %s', (_, schema, payload) => {
    expect(() => avroReader([schema])(payload)).toThrow(/./);
  });

  it.each([
    ['a type that is not there', '{"type":"array","items":"Machine"}'],
    ['no fields', '{"type":"record","name":"R"}'],
    ['no name', '{"type":"record","fields":[]}'],
    ['no type at all', '{}'],
    [
      'types nested without an end',
      `${'{"type":"array","items":'.repeat(5000)}"int"${'}'.repeat(5000)}`,
    ],
  ])('is refused with a schema that has %s', (_, schema) => {
    expect(() => avroReader([schema])).toThrow(/./);
  });

  describe('that becomes more JSON than a message may have is refused', () => {
    it('as an array of a thousand million nulls', () => {
      const array = avroReader(['{"type":"array","items":"null"}']);
      expect(() => array(Buffer.from('8094ebdc0300', 'hex'))).toThrow('more than 250000 values');
    });

    it('as records that double at each level', () => {
      const levels = Array.from({ length: 40 }, (_, level) => ({
        type: 'record',
        name: `R${level}`,
        fields: ['a', 'b'].map((name) => ({
          name,
          type: level === 0 ? 'null' : `R${level - 1}`,
        })),
      }));
      const read = avroReader(levels.map((level) => JSON.stringify(level)));
      expect(() => read(bytes())).toThrow('more than');
    });

    it('as symbols that are longer than their encoding', () => {
      const symbols = ['x'.repeat(10_000)];
      const items = { type: 'enum', name: 'E', symbols };
      const read = avroReader([JSON.stringify({ type: 'array', items })]);
      const value = Buffer.concat([bytes(0xd0, 0x0f), Buffer.alloc(1000), bytes(0)]);
      expect(() => read(value)).toThrow('characters of JSON');
    });

    it('as a record that contains itself without an end', () => {
      const schema = { type: 'record', name: 'R', fields: [{ name: 'r', type: 'R' }] };
      expect(() => avroReader([JSON.stringify(schema)])(bytes())).toThrow('nested deeper');
    });
  });

  it('is read or refused in time for any bytes', () => {
    const readers = [LIST, { type: 'array', items: ['null', 'string', 'long'] }].map((schema) =>
      avroReader([JSON.stringify(schema)]),
    );
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 60 }), fc.nat(1), (payload, which) => {
        try {
          JSON.parse(readers[which]?.(Buffer.from(payload)) ?? '');
        } catch (error) {
          expect(error).not.toBeInstanceOf(SyntaxError);
        }
      }),
    );
  });
});
