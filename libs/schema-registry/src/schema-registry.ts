import { createRequire } from 'node:module';
import { Logger } from '@nestjs/common';
import { abortable, realDelayMs, realNowMs, whenAnyAborts } from '#libs/clock';
import {
  carriesJson,
  describeSchema,
  field,
  framed,
  FRAMED_OUTPUTS,
  type FramedMessage,
  type FramedOutput,
  isJsonObject,
  type JsonObject,
  MAX_BODY_BYTES,
  parsed,
  type Parsed,
  rejected,
  type SchemaFrame,
  schemaFrameOf,
  type SchemaReference,
} from '#libs/contracts';
import { backOffMs } from '#libs/delivery';
import { avroReader } from './avro.js';
import { TooLargeError, UnreadableError } from './json-output.js';
import {
  MAX_ANSWER_BYTES,
  type RegistryAnswer,
  RegistryRequests,
  type SchemaRegistryOptions,
} from './registry-requests.js';

/** A schema as the registry has it: ids are never given to another one. */
type KnownSchema =
  | { kind: 'readable'; type: string; read: (payload: Buffer) => Buffer }
  /** Asked for again once that has passed: it may have been registered since. */
  | { kind: 'refused'; why: string; untilMs: number };

const MAX_SCHEMAS = 256;
const MAX_REFERENCES = 32;
/** A registry of several nodes may show a schema on one of them before the others. */
const LOOK_UPS = 4;
const TIMINGS = {
  timeoutMs: 5000,
  lookUpGapMs: 1000,
  refusedGapMs: 10_000,
  /** Between two requests while it is away. */
  backOff: { baseMs: 500, capMs: 10_000 },
  leastWaitMs: 200,
};
/** Four bytes of a frame. */
const MAX_ID = 0xffff_ffff;
const REFUSED_FOR_MS = 10_000;
/** With so many ids unknown of late, others are looked up once: made-up ids must not hold a partition up for long. */
const MANY_UNKNOWN = 8;

/**
 * Reads values in the frame of a schema registry as the JSON that they stand for.
 *
 * The registry is *away* from the first request that it does not answer, or refuses for a reason that is not the
 * schema's, until the next one that it does. Look-ups wait meanwhile, however many there are, and one request at a time
 * is made to see; no value is refused for want of a schema.
 */
export class SchemaRegistry {
  /** Requests by what came of them. */
  readonly totals = { found: 0, unknown: 0, unavailable: 0, refused: 0 };
  /** The latest request without an answer, with the real milliseconds of its end. */
  lastFailure: { why: string; atMs: number } | undefined;
  private readonly logger = new Logger('SchemaRegistry');
  private readonly requests: RegistryRequests;
  /** The one used last comes last. */
  private readonly schemas = new Map<string, KnownSchema>();
  private readonly lookUps = new Map<string, Promise<KnownSchema>>();
  private readonly stopping = new AbortController();
  private outage: Outage | undefined;
  private refusal: string | undefined;

  constructor(
    options: SchemaRegistryOptions,
    private readonly timings = TIMINGS,
  ) {
    this.requests = new RegistryRequests(options, timings.timeoutMs);
  }

  /** Why messages wait for the registry, in words. */
  get problem(): string | undefined {
    if (this.refusal !== undefined) return this.refusal;
    return this.outage && `messages wait for their schemas: ${this.outage.why}`;
  }

  /**
   * The JSON of a value, or why it has none; undefined for a value that needs no registry: it has no frame, carries
   * JSON, or is too large to be read at all. At once where the schema is known; else the promise waits for the
   * registry, however long it is away.
   *
   * @throws the reason of the signal, as a rejection of the promise
   */
  readFramed(
    message: FramedMessage,
    signal: AbortSignal,
  ): Parsed<Buffer> | Promise<Parsed<Buffer>> | undefined {
    if (message.value !== null && message.value.length > MAX_BODY_BYTES) return undefined;
    const frame = schemaFrameOf(message);
    if (frame === undefined || carriesJson(frame.payload)) return undefined;
    const path = pathOf(frame.schema);
    const known = this.known(path);
    if (known !== undefined) return read(frame, known);
    let lookUp = this.lookUps.get(path);
    if (lookUp === undefined) {
      lookUp = this.lookUp(path, describeSchema(frame.schema)).finally(() => {
        this.lookUps.delete(path);
      });
      // nobody may be waiting for it any more when the process stops
      lookUp.catch(() => undefined);
      this.lookUps.set(path, lookUp);
    }
    return abortable(lookUp, signal).then((found) => read(frame, found));
  }

  /**
   * The id of the JSON Schema of a subject, which is registered unless it is. Waits for the registry, and where it
   * refuses the schema until it takes it.
   *
   * @throws the reason of the signal
   */
  async registeredId(subject: string, schema: object, signal: AbortSignal): Promise<number> {
    const path = `/subjects/${encodeURIComponent(subject)}`;
    const body = { schemaType: 'JSON', schema: JSON.stringify(schema) };
    for (;;) {
      const either = AbortSignal.any([signal, this.stopping.signal]);
      // a schema that is there needs no right to write one
      const known = await this.requestUntilAnswered(path, subject, either, body);
      const answer =
        known.kind === 'document'
          ? known
          : await this.requestUntilAnswered(`${path}/versions`, subject, either, body);
      const id = answer.kind === 'document' ? field(answer.document, 'id') : undefined;
      if (typeof id === 'number' && Number.isInteger(id) && id > 0 && id <= MAX_ID) {
        this.refusal = undefined;
        this.logger.log({ msg: 'output schema registered', subject, id });
        return id;
      }
      this.refuse(subject, answer.kind === 'none' ? answer.why : 'it answers without an id');
      await realDelayMs(this.timings.refusedGapMs, either);
    }
  }

  private refuse(subject: string, why: string): void {
    this.totals.refused += 1;
    const refusal = `the registry refuses the schema of ${subject}: ${why}`;
    if (refusal === this.refusal) return;
    this.refusal = refusal;
    const remedy =
      'set the compatibility of the subject to FORWARD or NONE, or name another registry';
    this.logger.error({ msg: 'output schema refused, nothing is published', subject, why, remedy });
  }

  async close(): Promise<void> {
    this.stopping.abort(new Error('the bridge is stopping'));
    await this.requests.close();
  }

  private known(path: string): KnownSchema | undefined {
    const known = this.schemas.get(path);
    if (known === undefined) return undefined;
    this.schemas.delete(path);
    if (known.kind === 'refused' && known.untilMs < realNowMs()) return undefined;
    this.schemas.set(path, known);
    return known;
  }

  private async lookUp(path: string, what: string): Promise<KnownSchema> {
    const found = await this.find(path, what);
    this.schemas.set(path, found);
    const [oldest] = this.schemas.keys();
    if (this.schemas.size > MAX_SCHEMAS && oldest !== undefined) this.schemas.delete(oldest);
    return found;
  }

  private async find(path: string, what: string): Promise<KnownSchema> {
    try {
      const document = await this.documentOf(path, what, this.areManyUnknown ? 1 : LOOK_UPS);
      const documents: string[] = [];
      await this.collect(document, what, documents, new Set());
      return await readerOf(field(document, 'schemaType') ?? 'AVRO', documents);
    } catch (error) {
      this.stopping.signal.throwIfAborted();
      // whatever a parser makes of a schema that was made to break it
      const why = error instanceof UnreadableError ? error.message : 'it cannot be read';
      this.logger.warn({ msg: 'schema cannot be used', schema: what, why });
      return { kind: 'refused', why, untilMs: realNowMs() + REFUSED_FOR_MS };
    }
  }

  private get areManyUnknown(): boolean {
    const now = realNowMs();
    let count = 0;
    for (const known of this.schemas.values()) {
      if (known.kind === 'refused' && known.untilMs > now) count += 1;
    }
    return count >= MANY_UNKNOWN;
  }

  /** @throws UnreadableError where the registry has none, asked so often */
  private async documentOf(path: string, what: string, lookUps: number): Promise<JsonObject> {
    for (let attempt = 1; ; attempt += 1) {
      const answer = await this.requestUntilAnswered(path, what, this.stopping.signal);
      if (answer.kind === 'document') return answer.document;
      if (answer.kind === 'too-large') {
        throw new UnreadableError(`it has more than ${MAX_ANSWER_BYTES} bytes`);
      }
      if (attempt >= lookUps) throw new UnreadableError(`the registry has none (${answer.why})`);
      await realDelayMs(this.timings.lookUpGapMs, this.stopping.signal);
    }
  }

  /** Adds the texts of all schemas that one refers to, each behind those that it refers to itself. */
  private async collect(
    document: JsonObject,
    what: string,
    into: string[],
    seen: Set<string>,
  ): Promise<void> {
    const references = field(document, 'references') ?? [];
    for (const reference of Array.isArray(references) ? (references as unknown[]) : []) {
      const { subject, version } = isJsonObject(reference) ? reference : {};
      const versions = `/subjects/${encodeURIComponent(String(subject))}/versions`;
      // a schema of old messages is there after its subject is deleted, and so has to be what it refers to
      const path = `${versions}/${encodeURIComponent(String(version))}?deleted=true`;
      if (seen.has(path)) continue;
      seen.add(path);
      if (seen.size > MAX_REFERENCES) {
        throw new UnreadableError(`it refers to more than ${MAX_REFERENCES} others`);
      }
      await this.collect(await this.documentOf(path, what, LOOK_UPS), what, into, seen);
    }
    into.push(String(field(document, 'schema')));
    // they are read in one turn of the event loop
    if (into.reduce((sum, { length }) => sum + length, 0) > MAX_ANSWER_BYTES) {
      throw new UnreadableError(
        `it has more than ${MAX_ANSWER_BYTES} characters with those that it refers to`,
      );
    }
  }

  /** Asks until the registry answers. */
  private async requestUntilAnswered(
    path: string,
    what: string,
    signal: AbortSignal,
    body: JsonObject | null = null,
  ): Promise<Exclude<RegistryAnswer, { kind: 'unavailable' }>> {
    for (;;) {
      await this.outage?.turn(signal);
      const answer = await this.requests.send(path, body, signal).catch((error: unknown) => {
        // whoever gives up leaves the next request to others
        this.outage?.failed(this.outage.why);
        throw error;
      });
      if (answer.kind !== 'unavailable') {
        this.totals[answer.kind === 'none' ? 'unknown' : 'found'] += 1;
        this.answered();
        return answer;
      }
      this.totals.unavailable += 1;
      this.lastFailure = { why: `schema registry: ${answer.why}`, atMs: realNowMs() };
      if (this.outage === undefined) {
        this.outage = new Outage(this.timings);
        const msg = 'schema registry away, messages wait';
        this.logger.warn({ msg, why: answer.why, schema: what });
      }
      this.outage.failed(answer.why);
    }
  }

  private answered(): void {
    if (this.outage === undefined) return;
    const seconds = Math.round((realNowMs() - this.outage.sinceMs) / 1000);
    this.logger.log({ msg: 'schema registry answers again', seconds });
    this.outage.end();
    this.outage = undefined;
  }
}

/** A time in which the registry does not answer: one request at a time is made to see. */
class Outage {
  readonly sinceMs = realNowMs();
  why = '';
  private failures = 0;
  private nextTryMs = Infinity;
  private readonly over = new AbortController();

  constructor(private readonly timings: Pick<typeof TIMINGS, 'backOff' | 'leastWaitMs'>) {}

  failed(why: string): void {
    this.why = why;
    this.failures += 1;
    const { backOff, leastWaitMs } = this.timings;
    this.nextTryMs = realNowMs() + Math.max(leastWaitMs, backOffMs(this.failures, backOff));
  }

  end(): void {
    this.over.abort();
  }

  /** Resolves when it is over, or when whoever waits is the one to make a request. */
  async turn(signal: AbortSignal): Promise<void> {
    const { signal: either, release } = whenAnyAborts(signal, this.over.signal);
    while (!either.aborted && realNowMs() < this.nextTryMs) {
      const waitMs = Math.min(this.timings.leastWaitMs, this.nextTryMs - realNowMs());
      await realDelayMs(waitMs, either).catch(() => undefined);
    }
    release();
    signal.throwIfAborted();
    // until it is known what came of it
    if (!this.over.signal.aborted) this.nextTryMs = Infinity;
  }
}

function pathOf(schema: SchemaReference): string {
  return 'id' in schema ? `/schemas/ids/${schema.id}` : `/schemas/guids/${schema.guid}`;
}

async function readerOf(type: unknown, documents: readonly string[]): Promise<KnownSchema> {
  switch (type) {
    case 'AVRO':
      return { kind: 'readable', type: 'Avro', read: inJson(avroReader(documents)) };
    case 'PROTOBUF': {
      // loaded where it is needed
      const { protobufReader } = await import('./protobuf.js');
      return { kind: 'readable', type: 'Protobuf', read: inJson(protobufReader(documents)) };
    }
    case 'JSON':
      return { kind: 'readable', type: 'JSON', read: (payload) => payload };
    default:
      throw new UnreadableError('its type is none of AVRO, PROTOBUF and JSON');
  }
}

function inJson(reader: (payload: Buffer) => string): (payload: Buffer) => Buffer {
  return (payload) => Buffer.from(reader(payload));
}

function read({ schema, payload }: SchemaFrame, known: KnownSchema): Parsed<Buffer> {
  const name = describeSchema(schema);
  if (known.kind === 'refused') {
    return rejected(
      'invalid-message',
      `the schema of the value, ${name}, cannot be used: ${known.why}`,
    );
  }
  try {
    return parsed(known.read(payload));
  } catch (error) {
    const what = `the value cannot be read by its ${known.type} schema, ${name}`;
    if (error instanceof TooLargeError) return rejected('too-large', `${what}: ${error.message}`);
    // of the reader of Protobuf: what it says has no part of the value
    const why = error instanceof UnreadableError ? error.message : 'it is not of this schema';
    return rejected('invalid-message', `${what}: ${why}`);
  }
}

/**
 * Puts values of the outputs that are to be framed into the frame of their schema. Nothing of them is published before
 * the registry has it: a reader that expects frames stops at the first value without one.
 */
export class OutputFrames {
  private readonly topics: ReadonlySet<string>;
  /** By topic, without the prefix. */
  private readonly ids = new Map<string, number>();

  constructor(
    private readonly registry?: SchemaRegistry,
    private readonly outputs: readonly FramedOutput[] = [],
  ) {
    this.topics = new Set(outputs.map((output) => FRAMED_OUTPUTS[output]));
  }

  /**
   * Resolves once the registry has the schemas of all outputs that are published, under the names of Confluent's
   * serializers. May be called again: what is registered is not asked for once more.
   *
   * @param published full names of topics
   * @throws the reason of the signal
   */
  async register(
    topicPrefix: string,
    published: ReadonlySet<string>,
    signal: AbortSignal,
  ): Promise<void> {
    for (const output of this.outputs) {
      const topic = FRAMED_OUTPUTS[output];
      const name = `${topicPrefix}${topic}`;
      if (this.registry === undefined || !published.has(name) || this.ids.has(topic)) continue;
      const schema = outputSchema(output);
      this.ids.set(topic, await this.registry.registeredId(`${name}-value`, schema, signal));
    }
  }

  /** @param topic without the prefix */
  valueOf(topic: string, json: string): Buffer | string {
    if (!this.topics.has(topic)) return json;
    const id = this.ids.get(topic);
    if (id === undefined) throw new Error(`the schema of ${topic} is not registered`);
    return framed(id, json);
  }
}

const STATE_EVENTS = [
  ...['machine-state-changed', 'machine-state-corrected'],
  ...['machine-observation-lost', 'machine-observation-restored'],
];
const OUTCOMES = ['applied', 'superseded', 'rejected', 'deferred'].map((kind) => `outcome-${kind}`);

/** What the values of an output may be, by the names of files in docs/schemas. */
const OUTPUTS: Readonly<Record<FramedOutput, { title: string; of: readonly string[] }>> = {
  'state-events': { title: 'A change of the state of a machine', of: STATE_EVENTS },
  'latest-states': { title: 'The latest state of a machine', of: ['machine-state'] },
  outcomes: { title: 'What became of an input message', of: OUTCOMES },
};

const readSchema = createRequire(import.meta.url) as (path: `#schemas/${string}`) => JsonObject;

/** The JSON Schema of an output, which needs no other: registries have no names of files to refer to. */
export function outputSchema(output: FramedOutput): object {
  const { title, of } = OUTPUTS[output];
  const definitions: JsonObject = {};
  const anyOf = of.map((name) => ({ $ref: local(`${name}.json`) }));
  return { $schema: 'http://json-schema.org/draft-07/schema#', title, anyOf, definitions };

  /** Takes what a reference leads to into the definitions. */
  function local(reference: string): string {
    const [file = '', name = file] = reference.split(/\.json(?:#\/definitions\/)?/).filter(Boolean);
    if (!Object.hasOwn(definitions, name)) {
      const schema = readSchema(`#schemas/${file}`);
      // named before its parts are resolved, which may refer to it
      definitions[name] = undefined;
      definitions[name] = resolved(
        name === file ? schema : field(schema['definitions'] as JsonObject, name),
      );
    }
    return `#/definitions/${name}`;
  }

  function resolved(value: unknown): unknown {
    if (Array.isArray(value)) return value.map(resolved);
    if (!isJsonObject(value)) return value;
    const entries = Object.entries(value).filter(([key]) => key !== '$schema');
    return Object.fromEntries(
      entries.map(([key, each]) => [key, key === '$ref' ? local(String(each)) : resolved(each)]),
    );
  }
}
