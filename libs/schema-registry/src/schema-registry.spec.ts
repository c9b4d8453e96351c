import { realDelayMs } from '#libs/clock';
import { FRAMED_OUTPUTS, type FramedOutput, type Parsed } from '#libs/contracts';
import { respond, StubService } from '../../http-calls/test/stub-service.js';
import { OutputFrames, outputSchema, SchemaRegistry } from './schema-registry.js';
import { reachRegistry, type SchemaRegistryOptions } from './registry-requests.js';

/** A tenth of the real timings or less, except for the time in which a busy host answers. */
const TIMINGS = {
  ...{ timeoutMs: 30_000, lookUpGapMs: 100, refusedGapMs: 50 },
  ...{ backOff: { baseMs: 50, capMs: 500 }, leastWaitMs: 20 },
};
const LONG = { schema: '"long"' };
const SEVEN = Buffer.from([14]);
const NOT_FOUND = { status: 404, body: { error_code: 40_403, message: 'Schema not found' } };

interface Answer {
  status?: number;
  body?: unknown;
}

describe('a schema registry', () => {
  let service: StubService;
  let options: SchemaRegistryOptions;
  let registry: SchemaRegistry;
  let asked: string[];
  let posted: string[];
  let answers: Record<string, Answer | undefined>;
  /** The answer to every request while it is set. */
  let fault: Answer | 'hang' | undefined;
  const noEnd = new AbortController().signal;

  const answer: Parameters<StubService['answers']>[0] = (request, response) => {
    const { url = '' } = request;
    if (url !== '/schemas/types') asked.push(url);
    if (request.method === 'POST') posted.push(request.body);
    if (fault === 'hang') return;
    const { status = 200, body } = fault ?? answers[url] ?? NOT_FOUND;
    respond(status, body)(request, response);
  };

  beforeEach(async () => {
    asked = [];
    posted = [];
    answers = { '/schemas/types': { body: ['AVRO'] } };
    fault = undefined;
    service = await StubService.start();
    service.answers(answer);
    options = { url: service.baseUrl, authorization: 'Basic c2U=' };
    registry = new SchemaRegistry(options, TIMINGS);
  });

  afterEach(async () => {
    await registry.closeRegistry();
    await service.stop();
  });

  const framed = (id: number, payload: Buffer): { value: Buffer; headers: [] } => {
    const head = Buffer.alloc(5);
    head.writeUInt32BE(id, 1);
    return { value: Buffer.concat([head, payload]), headers: [] };
  };

  const read = async (id: number, payload = SEVEN, signal = noEnd): Promise<string> => {
    const body: Parsed<Buffer> | undefined = await registry.readFramed(framed(id, payload), signal);
    if (body === undefined) return 'left alone';
    return body.ok ? body.value.toString() : `${body.rejection.code}: ${body.rejection.detail}`;
  };

  /** Resolves once `count` requests have had no answer. */
  const failures = async (count: number): Promise<void> => {
    while (registry.totals.unavailable < count) await realDelayMs(5);
  };

  it('is asked once for a schema that several messages wait for', async () => {
    answers['/schemas/ids/7'] = { body: LONG };
    await expect(Promise.all([read(7), read(7), read(7)])).resolves.toEqual(['7', '7', '7']);
    expect(registry.readFramed(framed(7, Buffer.from([2])), noEnd)).toEqual({
      ok: true,
      value: Buffer.from('1'),
    });
    expect(asked).toEqual(['/schemas/ids/7']);
    expect(registry.totals).toEqual({ found: 1, unknown: 0, unavailable: 0, refused: 0 });
  });

  it('is not asked for a value that is JSON, has no frame or is too large', async () => {
    await expect(read(7, Buffer.from('{"a":1}\n'))).resolves.toBe('left alone');
    await expect(read(7, Buffer.from(' ["a"]'))).resolves.toBe('left alone');
    await expect(read(7, Buffer.alloc(1_048_577))).resolves.toBe('left alone');
    const plain = { value: Buffer.from('{}'), headers: [] };
    expect(registry.readFramed(plain, noEnd)).toBeUndefined();
    expect(asked).toEqual([]);
  });

  it('is asked for a payload that only begins like JSON', async () => {
    answers['/schemas/ids/7'] = { body: { schema: '{"type":"array","items":"string"}' } };
    // a string of five characters, the first of which is a bracket
    await expect(read(7, Buffer.from('\u0002\n[M-1]\u0000'))).resolves.toBe('["[M-1]"]');
    answers['/schemas/ids/8'] = { body: { schema: '"string"' } };
    await expect(read(8, Buffer.from('\n[M-12'))).resolves.toBe('"[M-12"');
  });

  it('leaves JSON unchanged', async () => {
    answers['/schemas/ids/9'] = { body: { schema: '{}', schemaType: 'JSON' } };
    await expect(read(9, Buffer.from('{"a":'))).resolves.toBe('{"a":');
  });

  it('has schemas of Protobuf, and those that others refer to', async () => {
    const machine = { name: 'machine.proto', subject: 'a/b machine', version: 3 };
    const order = 'syntax = "proto3"; import "machine.proto"; message Order { Machine m = 1; }';
    const schemaType = 'PROTOBUF';
    answers['/schemas/ids/7'] = { body: { schemaType, schema: order, references: [machine] } };
    answers['/subjects/a%2Fb%20machine/versions/3?deleted=true'] = {
      body: { schemaType, schema: 'syntax = "proto3"; message Machine { string id = 1; }' },
    };
    await expect(read(7, Buffer.from([0, 10, 3, 10, 1, 77]))).resolves.toBe('{"m":{"id":"M"}}');
  });

  it('is asked by GUID where the frame has one', async () => {
    const guid = '01234567-89ab-cdef-0123-456789abcdef';
    answers[`/schemas/guids/${guid}`] = { body: LONG };
    const header = Buffer.from(`01${guid.replaceAll('-', '')}`, 'hex');
    const headers = [['__value_schema_id', header]] as const;
    const body = await registry.readFramed({ value: SEVEN, headers }, noEnd);
    expect(body?.ok === true && body.value.toString()).toBe('7');
  });

  it('may show a schema a moment after it is used', async () => {
    const reading = read(7);
    while (asked.length < 2) await new Promise(setImmediate);
    answers['/schemas/ids/7'] = { body: LONG };
    await expect(reading).resolves.toBe('7');
  });

  it('leads to the refusal of messages whose schema it does not have after several requests', async () => {
    const detail = 'the schema of the value, schema id 7, cannot be used: the registry has none';
    await expect(read(7)).resolves.toBe(`invalid-message: ${detail} (HTTP 404 (40403))`);
    expect(asked).toHaveLength(4);
    // the next message does not wait as long
    await read(7);
    expect(asked).toHaveLength(4);
  });

  it('is asked once each where many ids are invented', async () => {
    await Promise.all(Array.from({ length: 8 }, (_, id) => read(id + 1)));
    const before = asked.length;
    await read(99);
    expect(asked.length - before).toBe(1);
  });

  it.each([
    ['is no schema', { body: { schema: '{"type":"record"}' } }, 'a named type has no name'],
    ['is of an unknown type', { body: { schema: '', schemaType: 'XML' } }, 'its type is none of'],
    ['is too large', { body: { schema: 'x'.repeat(600_000) } }, 'it has more than 524288 bytes'],
    [
      'refers to one that is not there',
      { body: { ...LONG, references: [{ name: 'x', subject: 'x', version: 1 }] } },
      'the registry has none',
    ],
  ])('has messages refused whose schema %s', async (_, answer, why) => {
    answers['/schemas/ids/7'] = answer;
    await expect(read(7)).resolves.toContain(why);
  });

  it('leads to the refusal of a value that does not match its schema', async () => {
    answers['/schemas/ids/7'] = { body: LONG };
    answers['/schemas/ids/8'] = { body: { schema: '{"type":"array","items":"null"}' } };
    await expect(read(7, Buffer.from([1, 1]))).resolves.toBe(
      'invalid-message: the value cannot be read by its Avro schema, schema id 7: 1 bytes are left over',
    );
    await expect(read(8, Buffer.from('8094ebdc0300', 'hex'))).resolves.toContain('too-large: ');
  });

  it('leads to the refusal of messages whose schema is too large with its references', async () => {
    const body = { schema: JSON.stringify(['x'.repeat(300_000)]) };
    answers['/schemas/ids/7'] = {
      body: { ...body, references: [{ name: 'x', subject: 'x', version: 1 }] },
    };
    answers['/subjects/x/versions/1?deleted=true'] = { body };
    await expect(read(7)).resolves.toContain('it has more than 524288 characters with those');
  });

  it('does not hang on schemas that refer to each other', async () => {
    const references = [1, 2].map((version) => ({ name: 'x', subject: 'x', version }));
    answers['/schemas/ids/7'] = { body: { ...LONG, references } };
    for (const { version } of references) {
      answers[`/subjects/x/versions/${version}?deleted=true`] = { body: { ...LONG, references } };
    }
    await expect(read(7)).resolves.toBe('7');
  });

  it.each<[string, Answer | 'hang']>([
    ['fails', { status: 500 }],
    ['is overloaded', { status: 429 }],
    ['refuses the login', { status: 401, body: { error_code: 401 } }],
    ['forbids it', { status: 403 }],
    ['is another server', { status: 404, body: '<html>' }],
    ['answers without JSON', { status: 200, body: '<html>' }],
    ['answers with JSON that is no schema', { status: 200, body: { status: 'UP' } }],
    ['answers with a long page', { status: 200, body: `<html>${'x'.repeat(600_000)}` }],
    ['redirects', { status: 302 }],
    ['does not answer', 'hang'],
  ])('has messages wait while it %s', async (_, given) => {
    answers['/schemas/ids/7'] = { body: LONG };
    if (given === 'hang') {
      await registry.closeRegistry();
      registry = new SchemaRegistry(options, { ...TIMINGS, timeoutMs: 500 });
    }
    fault = given;
    let isRead = false;
    const reading = read(7).finally(() => {
      isRead = true;
    });
    await failures(2);
    expect(isRead).toBe(false);
    expect(registry.waitReason).toContain('messages wait for their schemas: ');
    expect(registry.waitReason).not.toContain('c2U=');
    expect(registry.lastFailure?.why).toContain('schema registry: ');
    fault = undefined;
    await expect(reading).resolves.toBe('7');
    expect(registry.waitReason).toBeUndefined();
  });

  it.each<[string, string | undefined, Answer | 'hang' | undefined]>([
    ['it has no such schema', undefined, undefined],
    ['it has one', undefined, { body: LONG }],
    ['it does not answer', 'no-answer', 'hang'],
    ['it refuses the login', 'refused', { status: 401 }],
    ['it fails', 'failed', { status: 503 }],
    ['it is a web server', 'other-server', { status: 404, body: '<html>' }],
    ['it is a server with JSON for all', 'other-server', { body: { status: 'UP' } }],
    ['it redirects', 'other-server', { status: 302 }],
  ])('is reached or not: %s', async (_, cause, answer) => {
    fault = answer;
    const reach = await reachRegistry(options, answer === 'hang' ? 200 : 30_000);
    expect(reach?.cause).toBe(cause);
    expect(reach?.why).not.toBe('');
  });

  describe('has the schemas of outputs', () => {
    const SUBJECT = '/subjects/plant.outcomes-value';
    const register = (signal = noEnd) =>
      registry.registeredId('plant.outcomes-value', { type: 'object' }, signal);

    it('which are looked up, and registered where they are missing', async () => {
      answers[`${SUBJECT}/versions`] = { body: { id: 7 } };
      await expect(register()).resolves.toBe(7);
      const body = JSON.stringify({ schemaType: 'JSON', schema: '{"type":"object"}' });
      expect(posted).toEqual([body, body]);
      answers[SUBJECT] = { body: { id: 8, version: 2 } };
      await expect(register()).resolves.toBe(8);
      expect(asked).toEqual([SUBJECT, `${SUBJECT}/versions`, SUBJECT]);
    });

    it('which wait while it is away', async () => {
      fault = { status: 503 };
      const registering = register();
      await failures(2);
      expect(registry.waitReason).toBe('messages wait for their schemas: HTTP 503');
      fault = undefined;
      answers[SUBJECT] = { body: { id: 7 } };
      await expect(registering).resolves.toBe(7);
      expect(registry.waitReason).toBeUndefined();
    });

    it('which the login is not allowed to register', async () => {
      answers[`${SUBJECT}/versions`] = { status: 403 };
      const registering = register();
      await failures(1);
      expect(registry.waitReason).toBe(
        `messages wait for their schemas: HTTP 403 to POST ${SUBJECT}/versions`,
      );
      answers[`${SUBJECT}/versions`] = { body: { id: 7 } };
      await expect(registering).resolves.toBe(7);
    });

    it('which it refuses at first, and is asked again', async () => {
      const message = 'incompatible:\nPROPERTY_ADDED_TO_OPEN_CONTENT_MODEL';
      answers[`${SUBJECT}/versions`] = { status: 409, body: { error_code: 409, message } };
      const registering = register();
      while (registry.totals.refused < 2) await realDelayMs(5);
      expect(registry.waitReason).toBe(
        'the registry refuses the schema of plant.outcomes-value: HTTP 409 (409): incompatible: PROPERTY_ADDED_TO_OPEN_CONTENT_MODEL',
      );
      answers[`${SUBJECT}/versions`] = { body: { id: 7 } };
      await expect(registering).resolves.toBe(7);
      expect(registry.waitReason).toBeUndefined();
    });

    it('which are no longer awaited when the bridge stops', async () => {
      fault = { status: 503 };
      const stop = new AbortController();
      const registering = register(stop.signal);
      await failures(1);
      stop.abort(new Error('stopped'));
      await expect(registering).rejects.toThrow('stopped');
    });

    it('and frames their values only once they are registered', async () => {
      const frames = new OutputFrames(registry, ['outcomes']);
      const topic = 'machine.command-outcomes.v1';
      expect(() => frames.valueOf(topic, '{}')).toThrow('not registered');
      expect(frames.valueOf('machine.states.v1', '{}')).toBe('{}');
      answers[`/subjects/plant.${topic}-value`] = { body: { id: 7 } };
      await frames.register('plant.', new Set([`plant.${topic}`]), noEnd);
      fault = { status: 503 };
      await frames.register('plant.', new Set([`plant.${topic}`]), noEnd);
      expect(frames.valueOf(topic, '{}')).toEqual(Buffer.from('\0\0\0\0\u0007{}'));
    });
  });

  it('is asked by one message at a time while it is away', async () => {
    for (let id = 1; id <= 50; id += 1) answers[`/schemas/ids/${id}`] = { body: LONG };
    fault = { status: 503 };
    let underWay = 0;
    let mostUnderWay = 0;
    service.answers((request, response) => {
      mostUnderWay = Math.max(mostUnderWay, (underWay += 1));
      setTimeout(() => {
        underWay -= 1;
        answer(request, response);
      }, 20);
    });
    const first = read(1);
    await failures(1);
    const all = Array.from({ length: 49 }, (_, index) => read(index + 2));
    await failures(4);
    const most = mostUnderWay;
    fault = undefined;
    await expect(Promise.all([first, ...all])).resolves.toEqual(Array(50).fill('7'));
    expect(most).toBe(1);
  });

  it('is waited for until the partition is revoked, or it is closed', async () => {
    fault = { status: 503 };
    const revoked = new AbortController();
    const reading = read(7, SEVEN, revoked.signal);
    const other = read(8);
    const ends = Promise.allSettled([reading, other]);
    await failures(1);
    revoked.abort(new Error('revoked'));
    await expect(reading).rejects.toThrow('revoked');
    await registry.closeRegistry();
    await expect(other).rejects.toThrow('stopping');
    await ends;
  });

  it('is asked again for a schema that has not been used for long', async () => {
    for (let id = 1; id <= 300; id += 1) answers[`/schemas/ids/${id}`] = { body: LONG };
    for (let id = 1; id <= 300; id += 1) {
      await read(id);
      await read(1);
    }
    const before = asked.length;
    await read(1);
    await read(300);
    expect(asked).toHaveLength(before);
    await read(2);
    expect(asked).toHaveLength(before + 1);
  });
});

describe('the schema of an output', () => {
  it.each(Object.keys(FRAMED_OUTPUTS) as FramedOutput[])('is self-contained: %s', (output) => {
    const schema = outputSchema(output) as { anyOf: object[]; definitions: object };
    const names = Object.keys(schema.definitions);
    const text = JSON.stringify(schema);
    const references = [...text.matchAll(/"\$ref":"#\/definitions\/([\w-]+)"/g)];
    expect(new Set(references.map(([, name]) => name))).toEqual(new Set(names));
    expect(text.match(/"\$ref"/g)).toHaveLength(references.length);
    expect(text.match(/"\$schema"/g)).toHaveLength(1);
    expect(outputSchema(output)).toEqual(schema);
  });
});
