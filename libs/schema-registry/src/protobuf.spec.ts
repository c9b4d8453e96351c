import fc from 'fast-check';
import protobuf from 'protobufjs';
import descriptor from 'protobufjs/ext/descriptor.js';
import { protobufReader } from './protobuf.js';

const LIST = `
syntax = "proto3";
package com.example.erp;
import "google/protobuf/timestamp.proto";
import "google/protobuf/wrappers.proto";

/* Of one machine. */
message WorkOrderList {
  string machine_id = 1;
  repeated string working_orders = 2;
  google.protobuf.Timestamp issued_at = 3;
  google.protobuf.Int64Value counter = 4;
}
message WorkOrderLists {
  message Empty {}
  message Part { string name = 1; }
  repeated WorkOrderList machines = 1;
}
`;

const FIRST = Buffer.from([0]);

function encode(source: string, name: string, value: object): Buffer {
  const { root } = protobuf.parse(source, { keepCase: true });
  for (const path of ['timestamp', 'wrappers']) {
    root.addJSON(protobuf.common.get(`google/protobuf/${path}.proto`)?.nested ?? {});
  }
  const type = root.lookupType(name);
  return Buffer.from(type.encode(type.fromObject(value)).finish());
}

function read(source: string, payload: Buffer, ...documents: string[]): unknown {
  return JSON.parse(protobufReader([...documents, source])(payload));
}

/** A FileDescriptorProto as protoc writes it: that of `ORDER_TEXT`, with a nested type and an import. */
const ORDER_DESCRIPTOR =
  'CgxvcmRlcnMucHJvdG8SD2NvbS5leGFtcGxlLmVycBofZ29vZ2xlL3Byb3RvYnVmL3RpbWVzdGFtcC5wcm90byIHCg' +
  'VPdGhlciLGAwoFT3JkZXISEAoIb3JkZXJfaWQYASABKAkSLgoKY2hhbmdlZF9hdBgCIAEoCzIaLmdvb2dsZS5wcm90' +
  'b2J1Zi5UaW1lc3RhbXASLQoGc3RhdHVzGAMgASgOMh0uY29tLmV4YW1wbGUuZXJwLk9yZGVyLlN0YXR1cxI0CgpvcG' +
  'VyYXRpb25zGAQgAygLMiAuY29tLmV4YW1wbGUuZXJwLk9yZGVyLk9wZXJhdGlvbhIVCghyZXZpc2lvbhgFIAEoBVID' +
  'cmV2GtkBCglPcGVyYXRpb24SFAoMb3BlcmF0aW9uX2lkGAEgASgJEjIKBnN0YXR1cxgCIAEoDjIdLmNvbS5leGFtcG' +
  'xlLmVycC5PcmRlci5TdGF0dXNIAIgBARJECgpxdWFudGl0aWVzGAMgAygLMjAuY29tLmV4YW1wbGUuZXJwLk9yZGVy' +
  'Lk9wZXJhdGlvbi5RdWFudGl0aWVzRW50cnkaMQoPUXVhbnRpdGllc0VudHJ5EgsKA2tleRgBIAEoCRINCgV2YWx1ZR' +
  'gCIAEoAToCOAFCCQoHX3N0YXR1cyIjCgZTdGF0dXMSCwoHcGxhbm5lZBAAEgwKCHJlbGVhc2VkEAFiBnByb3RvMw==';
const ORDER_TEXT = `
syntax = "proto3";
package com.example.erp;
import "google/protobuf/timestamp.proto";
message Other {}
message Order {
  enum Status { planned = 0; released = 1; }
  message Operation {
    string operation_id = 1;
    optional Status status = 2;
    map<string, double> quantities = 3;
  }
  string order_id = 1;
  google.protobuf.Timestamp changed_at = 2;
  Status status = 3;
  repeated Operation operations = 4;
  int32 revision = 5 [json_name = "rev"];
}
`;

describe('a message of Protobuf', () => {
  it('is the JSON of the message', () => {
    const list = {
      machine_id: 'M-1',
      working_orders: ['4711', '4712'],
      issued_at: { seconds: 1_763_680_000, nanos: 500_000_000 },
      counter: { value: 7 },
    };
    const payload = Buffer.concat([FIRST, encode(LIST, 'com.example.erp.WorkOrderList', list)]);
    expect(read(LIST, payload)).toEqual({
      machineId: 'M-1',
      workingOrders: ['4711', '4712'],
      issuedAt: '2025-11-20T23:06:40.500Z',
      counter: 7,
    });
  });

  it('has its empty lists, which Protobuf does not write, and no other absent field', () => {
    const payload = Buffer.concat([FIRST, encode(LIST, 'WorkOrderList', { machine_id: 'M-1' })]);
    expect(read(LIST, payload)).toEqual({ machineId: 'M-1', workingOrders: [] });
  });

  it('has the value 0 of an enum, which proto3 does not write, unless it is UNSPECIFIED or UNKNOWN', () => {
    const source = `
      syntax = "proto3";
      enum Status { planned = 0; released = 1; }
      enum Kind { KIND_UNSPECIFIED = 0; KIND_A = 1; }
      message Order {
        Status status = 1; Kind kind = 2; optional Status before = 3;
        oneof either { Status one = 4; Kind other = 5; }
        map<string, Status> by_id = 6;
      }`;
    expect(read(source, FIRST)).toEqual({ status: 'planned' });
    const written = Buffer.from([0, 8, 1, 16, 0, 24, 0, 32, 0]);
    const expected = { status: 'released', kind: 'KIND_UNSPECIFIED', before: 'planned' };
    expect(read(source, written)).toEqual({ ...expected, one: 'planned' });
    const proto2 = 'enum Status { planned = 0; } message Order { optional Status status = 1; }';
    expect(read(proto2, FIRST)).toEqual({});
  });

  it.each([
    ['the second', [2, 2], { machines: [] }],
    ['one within another', [4, 2, 2], {}],
  ])('may be %s of its schema', (_, indexes, expected) => {
    expect(read(LIST, Buffer.from(indexes))).toEqual(expected);
  });

  it('may have types of other schemas', () => {
    const machine =
      'syntax = "proto3"; package a; message Other {} message Machine { string id = 1; }';
    const source =
      'syntax = "proto3"; package a; import "machine.proto"; message Order { Machine machine = 1; }';
    const payload = Buffer.from([0, 10, 3, 10, 1, 77]);
    expect(read(source, payload, machine)).toEqual({ machine: { id: 'M' } });
  });

  it('may be of a well-known type that is registered like any other', () => {
    const timestamp =
      'syntax = "proto3"; package google.protobuf; message Timestamp { int64 seconds = 1; }';
    const list = { machine_id: 'M-1', issued_at: { seconds: 7 } };
    const payload = Buffer.concat([FIRST, encode(LIST, 'WorkOrderList', list)]);
    expect(read(LIST, payload, timestamp)).toMatchObject({ issuedAt: '1970-01-01T00:00:07.000Z' });
  });

  it('may have types that registries define, as Kafka Connect writes them', () => {
    const source = `
      syntax = "proto3";
      import "confluent/meta.proto";
      import "confluent/type/decimal.proto";
      import "google/type/date.proto";
      import "google/type/timeofday.proto";
      message Row {
        confluent.type.Decimal number = 1 [(confluent.field_meta) = { params: [{ key: "scale", value: "0" }] }];
        google.type.Date day = 2;
        google.type.TimeOfDay time = 3;
        repeated confluent.type.Decimal weights = 4;
      }`;
    const within = (id: number, ...bytes: number[]) => [8 * id + 2, bytes.length, ...bytes];
    const below0 = [0xfe, ...Array<number>(8).fill(0xff), 1];
    const payload = Buffer.from([
      ...[0, ...within(1, 10, 2, 0x12, 0x67, 16, 4)],
      ...within(2, 8, ...varint(2024), 16, 3, 24, 20),
      ...within(3, 8, 6, 24, 5, 32, ...varint(2_000_000)),
      ...within(4, 10, 1, 0xfb, 24, 2),
      ...within(4, 10, 3, 1, 0xe2, 0x40, 24, ...below0),
    ]);
    expect(read(source, payload)).toEqual({
      ...{ number: '4711', day: '2024-03-20', time: '06:00:05.002' },
      weights: ['-0.05', '12345600'],
    });
    const own = 'syntax = "proto3"; package google.type; message Date { int32 year = 1; }';
    expect(read(source, payload, own)).toMatchObject({ day: '2024-03-20' });
  });

  it('may have custom options and extensions, which are ignored', () => {
    const options = `
      syntax = "proto3";
      package plant;
      import "google/protobuf/descriptor.proto";
      extend google.protobuf.FieldOptions { string unit = 50001; }`;
    const source = `
      package erp;
      import "options.proto";
      message Order {
        extend google.protobuf.MessageOptions { optional string owner = 50002; }
        option (owner) = "MES";
        optional string id = 1 [(plant.unit) = "none"];
        extensions 100 to 200;
      }
      extend Order { optional int32 priority = 100; }`;
    const payload = Buffer.from([0, 10, 1, 77, 0xa0, 6, 5]);
    expect(read(source, payload, options)).toEqual({ id: 'M' });
  });

  it('may have fields of any type', () => {
    const source = `
      syntax = "proto3";
      enum Status { unknown = 0; released = 1; }
      message All {
        double d = 1; float f = 2; int32 i32 = 3; int64 i64 = 4; uint32 u32 = 5; uint64 u64 = 6;
        sint32 s32 = 7; sint64 s64 = 8; fixed32 f32 = 9; fixed64 f64 = 10; sfixed32 sf32 = 11;
        sfixed64 sf64 = 12; bool yes = 13; bytes data = 14; Status status = 15;
        map<string, int32> counts = 16; map<int32, Status> states = 17; repeated int32 packed = 18;
        repeated int32 plain = 19 [packed = false]; oneof one { string text = 20; int32 number = 21; }
        string named = 22 [json_name = "other"]; repeated Status all = 23; optional int32 zero = 24;
      }`;
    const value = {
      ...{ d: 1.5, f: 0.25, i32: -1, i64: '-9007199254740993', u32: 4_294_967_295 },
      ...{ u64: '18446744073709551615', s32: -7, s64: -8, f32: 9, f64: 10, sf32: -11, sf64: -12 },
      ...{ yes: true, data: Buffer.from('a'), status: 'released', counts: { a: 1, b: 0 } },
      ...{ states: { 1: 1 }, packed: [1, 2], plain: [3, 4], number: 5, named: 'n', all: [1, 0] },
      ...{ zero: 0 },
    };
    const expected: object = {
      ...{ ...value, data: 'YQ==', states: { 1: 'released' }, all: ['released', 'unknown'] },
      other: 'n',
    };
    delete (expected as { named?: string }).named;
    expect(read(source, Buffer.concat([FIRST, encode(source, 'All', value)]))).toEqual(expected);
  });

  it('has the last value of a field, and the last field of a oneof', () => {
    const source =
      'syntax = "proto3"; message M { int32 a = 1; oneof o { int32 b = 2; int32 c = 3; } }';
    expect(read(source, Buffer.from([0, 8, 1, 8, 2, 16, 3, 24, 4]))).toEqual({ a: 2, c: 4 });
  });

  it('is read without fields that its schema does not have, or has with another type', () => {
    const source = 'syntax = "proto3"; message M { int32 a = 1; string b = 2; }';
    const payload = Buffer.from([0, 8, 1, 16, 5, 26, 1, 7, 0x23, 8, 1, 0x24, 45, 1, 2, 3, 4]);
    expect(read(source, payload)).toEqual({ a: 1 });
  });

  it.each([
    ['ends too early', [0, 10, 5, 77]],
    ['ends within another message', [0, 26, 2, 8]],
    ['is of a message that the schema has not', [2, 8]],
    ['names no message', [1]],
    ['has a text that is not UTF-8', [0, 10, 1, 0xff]],
    ['has no such wire type', [0, 15]],
    ['is empty', []],
  ])('is refused where it %s', (_, payload) => {
    expect(() => read(LIST, Buffer.from(payload))).toThrow(/./);
  });

  it.each([
    ['a syntax of its own', 'message {'],
    ['a type that is not there', 'syntax = "proto3"; message M { Other o = 1; }'],
    ['messages nested without an end', 'message A {'.repeat(20_000)],
  ])('is refused with a schema that has %s', (_, source) => {
    expect(() => read(source, FIRST)).toThrow(/./);
  });

  it('is refused with a schema that would take long to parse', () => {
    const fields = Array.from({ length: 20_000 }, (_, id) => `string f${id} = ${id + 1};`);
    const begunMs = performance.now();
    expect(() => read(`message M { ${fields.join(' ')} }`, FIRST)).toThrow('more than 131072');
    expect(() => read(`message M { ${fields.slice(0, 1000).join(' ')} }`, FIRST)).toThrow('1000');
    const values = `option (x) = { ${'a 1 '.repeat(30_000)} };`;
    expect(() => read(`${values} message M {}`, FIRST)).toThrow('12000 words');
    const quotes = '\\"'.repeat(60_000);
    expect(() => read(`option x = "${quotes}; message M {}`, FIRST)).toThrow('1000 fields');
    expect(performance.now() - begunMs).toBeLessThan(2000);
  });

  it.each([
    ['a text', ORDER_TEXT],
    [
      'a descriptor in base64, as serializers of Python, .NET and JavaScript register it',
      ORDER_DESCRIPTOR,
    ],
  ])('is read by %s', (_name, schema) => {
    const second = Buffer.from([2, 2]);
    const order =
      '0a013112060880befec80622130a0231301a0d0a024b4711000000000000294022060a0232301000';
    const payload = Buffer.concat([second, Buffer.from(order + '2807', 'hex')]);

    expect(read(schema, payload)).toEqual({
      orderId: '1',
      changedAt: '2025-11-20T23:06:40.000Z',
      status: 'planned',
      operations: [
        { operationId: '10', quantities: { KG: 12.5 } },
        { operationId: '20', status: 'planned' },
      ],
      rev: 7,
    });
  });

  it('is refused with a descriptor that would take long to parse, or is invalid', () => {
    expect(() => read(extensionsOf('M', 1001), FIRST)).toThrow('more than');
    expect(() => read('QUJD'.repeat(100), FIRST)).toThrow('it is no Protobuf schema');
  });

  it.each([
    ['a descriptor', extensionsOf('M', 600)],
    ['a text', `message M { ${'reserved 1; '.repeat(600)} }`],
  ])('is refused with %s that has too many fields with those that it refers to', (_name, own) => {
    expect(read(own, FIRST)).toEqual({});
    expect(() => read(own, FIRST, extensionsOf('Other', 600))).toThrow('more than');
  });

  it('is read by a descriptor that refers to others', () => {
    const importing =
      'syntax = "proto3"; import "orders.proto"; message M { com.example.erp.Order order = 1; }';
    const payload = Buffer.concat([FIRST, Buffer.from('0a030a0131', 'hex')]);

    expect(read(importing, payload, ORDER_DESCRIPTOR)).toMatchObject({ order: { orderId: '1' } });
  });

  it('is refused with a short quotation of an invalid schema', () => {
    const source = `message ${'$'.repeat(1000)} {}`;
    expect(() => read(source, FIRST)).toThrow(/^it is no Protobuf schema: .{1,200}$/);
  });

  it('that becomes more JSON than a message may have is refused', () => {
    const long = `field_${'x'.repeat(10_000)}`;
    const source = `syntax = "proto3"; message M { repeated M ${long} = 1; }`;
    const payload = Buffer.concat([FIRST, Buffer.from('0a00'.repeat(10_000), 'hex')]);
    expect(() => read(source, payload)).toThrow('characters of JSON');
    const deep = Array.from({ length: 100 }).reduce<Buffer>(
      (within) => Buffer.concat([Buffer.from([10, ...varint(within.length)]), within]),
      Buffer.alloc(0),
    );
    const plain = 'syntax = "proto3"; message M { M m = 1; }';
    expect(() => read(plain, Buffer.concat([FIRST, deep]))).toThrow('nested deeper');
  });

  it('is read or refused in time for any bytes', () => {
    const reader = protobufReader([LIST]);
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 60 }), (payload) => {
        try {
          JSON.parse(reader(Buffer.concat([FIRST, Buffer.from(payload)])));
        } catch (error) {
          expect(error).not.toBeInstanceOf(SyntaxError);
        }
      }),
    );
  });
});

/** A descriptor of a message that declares `count` extensions. */
function extensionsOf(name: string, count: number): string {
  const { FileDescriptorProto } = descriptor;
  const extension = Array.from({ length: count }, (_, index) => ({
    ...{ name: `f${index}`, number: index + 1, label: 1, type: 9, extendee: `.${name}` },
  }));
  const file = { messageType: [{ name, extension }] };
  const bytes = FileDescriptorProto.encode(FileDescriptorProto.fromObject(file)).finish();
  return Buffer.from(bytes).toString('base64');
}

function varint(value: number): number[] {
  return value < 0x80 ? [value] : [(value & 0x7f) | 0x80, ...varint(value >> 7)];
}
