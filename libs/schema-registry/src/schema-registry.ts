import { createRequire } from 'node:module';
import { Logger } from '@nestjs/common';
import { abortable, realDelayMs, realNowMs, whenAnyAborts } from '#libs/clock';
import {
  carriesJson,
  describeSchema,
  field,
  frameJson,
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

/** The registry's answer for a schema. A registry never gives an id to another schema. */
type KnownSchema =
  | { kind: 'readable'; type: string; read: (payload: Buffer) => Buffer }
  /** Requested again after `untilMs`: the schema may have been registered since. */
  | { kind: 'refused'; why: string; untilMs: number };

const MAX_SCHEMAS = 256;
const MAX_REFERENCES = 32;
/** In a registry of several nodes, one may know a schema before the others. */
const LOOK_UPS = 4;
const TIMINGS = {
  timeoutMs: 5000,
  lookUpGapMs: 1000,
  refusedGapMs: 10_000,
  /** Between two requests while the registry is away. */
  backOff: { baseMs: 500, capMs: 10_000 },
  leastWaitMs: 200,
};
/** An id has four bytes in a frame. */
const MAX_ID = 0xffff_ffff;
const REFUSED_FOR_MS = 10_000;
/** With this many unknown ids, others are requested once only: invented ids must not delay a partition for long. */
const MANY_UNKNOWN = 8;

/**
 * Decodes values in the frame of a schema registry to JSON.
 *
 * The registry is *away* from the first request that it does not answer, or refuses for a reason other than the schema,
 * until the next one that it answers. All look-ups wait meanwhile, and one request at a time probes the registry; no
 * value is refused because its schema is missing.
 */
export class SchemaRegistry {
  /** Number of requests by result. */
  readonly totals = { found: 0, unknown: 0, unavailable: 0, refused: 0 };
  /** The latest request without an answer, with the real milliseconds of its end. */
  lastFailure: { why: string; atMs: number } | undefined;
  private readonly logger = new Logger('SchemaRegistry');
  private readonly requests: RegistryRequests;
  /** In order of use, the latest last. */
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

  /** Why messages or outputs wait for the registry, as text; undefined while none do. */
  get waitReason(): string | undefined {
    if (this.refusal !== undefined) return this.refusal;
    return this.outage && `messages wait for their schemas: ${this.outage.why}`;
  }

  /**
   * The JSON of a value, or why it cannot be decoded; undefined for a value that needs no registry: it has no frame,
   * its payload is JSON, or it is too large to be read. Synchronous where the schema is known; otherwise the promise
   * waits for the registry, however long it is away.
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
    const known = this.cachedSchema(path);
    if (known !== undefined) return decodeValue(frame, known);
    let lookUp = this.lookUps.get(path);
    if (lookUp === undefined) {
      lookUp = this.lookUpSchema(path, describeSchema(frame.schema)).finally(() => {
        this.lookUps.delete(path);
      });
      // when the process stops, its waiters may be gone
      lookUp.catch(() => undefined);
      this.lookUps.set(path, lookUp);
    }
    return abortable(lookUp, signal).then((found) => decodeValue(frame, found));
  }

  /**
   * The id of the JSON Schema of a subject. Registers the schema if the registry does not have it. Waits while the
   * registry is away or refuses the schema.
   *
   * @throws the reason of the signal
   */
  async registeredId(subject: string, schema: object, signal: AbortSignal): Promise<number> {
    const path = `/subjects/${encodeURIComponent(subject)}`;
    const body = { schemaType: 'JSON', schema: JSON.stringify(schema) };
    for (;;) {
      const either = AbortSignal.any([signal, this.stopping.signal]);
      // for an existing schema, the login needs no right to write
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
      this.reportRefusal(subject, answer.kind === 'none' ? answer.why : 'it answers without an id');
      await realDelayMs(this.timings.refusedGapMs, either);
    }
  }

  private reportRefusal(subject: string, why: string): void {
    this.totals.refused += 1;
    const refusal = `the registry refuses the schema of ${subject}: ${why}`;
    if (refusal === this.refusal) return;
    this.refusal = refusal;
    const remedy =
      'set the compatibility of the subject to FORWARD or NONE, or name another registry';
    this.logger.error({ msg: 'output schema refused, nothing is published', subject, why, remedy });
  }

  async closeRegistry(): Promise<void> {
    this.stopping.abort(new Error('the bridge is stopping'));
    await this.requests.closeConnections();
  }

  private cachedSchema(path: string): KnownSchema | undefined {
    const known = this.schemas.get(path);
    if (known === undefined) return undefined;
    this.schemas.delete(path);
    if (known.kind === 'refused' && known.untilMs < realNowMs()) return undefined;
    this.schemas.set(path, known);
    return known;
  }

  private async lookUpSchema(path: string, what: string): Promise<KnownSchema> {
    const found = await this.loadSchema(path, what);
    this.schemas.set(path, found);
    const [oldest] = this.schemas.keys();
    if (this.schemas.size > MAX_SCHEMAS && oldest !== undefined) this.schemas.delete(oldest);
    return found;
  }

  private async loadSchema(path: string, what: string): Promise<KnownSchema> {
    try {
      const document = await this.requestDocument(path, what, this.areManyUnknown ? 1 : LOOK_UPS);
      const documents: string[] = [];
      await this.collectDocuments(document, what, documents, new Set());
      return await compileSchema(field(document, 'schemaType') ?? 'AVRO', documents);
    } catch (error) {
      this.stopping.signal.throwIfAborted();
      // a parser may throw anything for a malicious schema
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

  /** @throws UnreadableError where the registry has no schema after `lookUps` requests */
  private async requestDocument(path: string, what: string, lookUps: number): Promise<JsonObject> {
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

  /** Collects the texts of a schema and of all that it refers to, each after the ones that it refers to. */
  private async collectDocuments(
    document: JsonObject,
    what: string,
    into: string[],
    seen: Set<string>,
  ): Promise<void> {
    const references = field(document, 'references') ?? [];
    for (const reference of Array.isArray(references) ? (references as unknown[]) : []) {
      const { subject, version } = isJsonObject(reference) ? reference : {};
      const versions = `/subjects/${encodeURIComponent(String(subject))}/versions`;
      // old messages have schemas of deleted subjects, whose references are deleted too
      const path = `${versions}/${encodeURIComponent(String(version))}?deleted=true`;
      if (seen.has(path)) continue;
      seen.add(path);
      if (seen.size > MAX_REFERENCES) {
        throw new UnreadableError(`it refers to more than ${MAX_REFERENCES} others`);
      }
      await this.collectDocuments(
        await this.requestDocument(path, what, LOOK_UPS),
        what,
        into,
        seen,
      );
    }
    into.push(String(field(document, 'schema')));
    // all are parsed in one turn of the event loop
    if (into.reduce((sum, { length }) => sum + length, 0) > MAX_ANSWER_BYTES) {
      throw new UnreadableError(
        `it has more than ${MAX_ANSWER_BYTES} characters with those that it refers to`,
      );
    }
  }

  private async requestUntilAnswered(
    path: string,
    what: string,
    signal: AbortSignal,
    body: JsonObject | null = null,
  ): Promise<Exclude<RegistryAnswer, { kind: 'unavailable' }>> {
    for (;;) {
      await this.outage?.waitForTurn(signal);
      const answer = await this.requests.request(path, body, signal).catch((error: unknown) => {
        // a caller that gives up leaves the next request to another one
        this.outage?.recordFailure(this.outage.why);
        throw error;
      });
      if (answer.kind !== 'unavailable') {
        this.totals[answer.kind === 'none' ? 'unknown' : 'found'] += 1;
        this.endOutage();
        return answer;
      }
      this.totals.unavailable += 1;
      this.lastFailure = { why: `schema registry: ${answer.why}`, atMs: realNowMs() };
      if (this.outage === undefined) {
        this.outage = new Outage(this.timings);
        const msg = 'schema registry away, messages wait';
        this.logger.warn({ msg, why: answer.why, schema: what });
      }
      this.outage.recordFailure(answer.why);
    }
  }

  private endOutage(): void {
    if (this.outage === undefined) return;
    const seconds = Math.round((realNowMs() - this.outage.sinceMs) / 1000);
    this.logger.log({ msg: 'schema registry answers again', seconds });
    this.outage.releaseAll();
    this.outage = undefined;
  }
}

/** A time in which the registry does not answer. Admits one request at a time. */
class Outage {
  readonly sinceMs = realNowMs();
  why = '';
  private failures = 0;
  private nextTryMs = Infinity;
  private readonly over = new AbortController();

  constructor(private readonly timings: Pick<typeof TIMINGS, 'backOff' | 'leastWaitMs'>) {}

  recordFailure(why: string): void {
    this.why = why;
    this.failures += 1;
    const { backOff, leastWaitMs } = this.timings;
    this.nextTryMs = realNowMs() + Math.max(leastWaitMs, backOffMs(this.failures, backOff));
  }

  releaseAll(): void {
    this.over.abort();
  }

  /** Resolves when the outage is over, or when it is the caller's turn to make a request. */
  async waitForTurn(signal: AbortSignal): Promise<void> {
    const { signal: either, release } = whenAnyAborts(signal, this.over.signal);
    while (!either.aborted && realNowMs() < this.nextTryMs) {
      const waitMs = Math.min(this.timings.leastWaitMs, this.nextTryMs - realNowMs());
      await realDelayMs(waitMs, either).catch(() => undefined);
    }
    release();
    signal.throwIfAborted();
    // nobody else until the result of this request is known
    if (!this.over.signal.aborted) this.nextTryMs = Infinity;
  }
}

function pathOf(schema: SchemaReference): string {
  return 'id' in schema ? `/schemas/ids/${schema.id}` : `/schemas/guids/${schema.guid}`;
}

async function compileSchema(type: unknown, documents: readonly string[]): Promise<KnownSchema> {
  switch (type) {
    case 'AVRO':
      return { kind: 'readable', type: 'Avro', read: inJson(avroReader(documents)) };
    case 'PROTOBUF': {
      // protobufjs is loaded on demand
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

function decodeValue({ schema, payload }: SchemaFrame, known: KnownSchema): Parsed<Buffer> {
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
    // an error of protobufjs does not describe the fault
    const why = error instanceof UnreadableError ? error.message : 'it is not of this schema';
    return rejected('invalid-message', `${what}: ${why}`);
  }
}

/**
 * Puts the values of configured outputs into the frame of their schema. Such an output publishes nothing before its
 * schema is registered: a reader that expects frames stops at the first value without one.
 */
export class OutputFrames {
  private readonly topics: ReadonlySet<string>;
  /** Schema ids by topic, without the prefix. */
  private readonly ids = new Map<string, number>();

  constructor(
    private readonly registry: SchemaRegistry,
    private readonly outputs: readonly FramedOutput[],
  ) {
    this.topics = new Set(outputs.map((output) => FRAMED_OUTPUTS[output]));
  }

  /**
   * Resolves once the schemas of all published outputs are registered, under the subject names of Confluent's
   * serializers. May be called again: registered schemas are not requested a second time.
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
      if (!published.has(name) || this.ids.has(topic)) continue;
      const schema = outputSchema(output);
      this.ids.set(topic, await this.registry.registeredId(`${name}-value`, schema, signal));
    }
  }

  /** @param topic without the prefix */
  valueOf(topic: string, json: string): Buffer | string {
    if (!this.topics.has(topic)) return json;
    const id = this.ids.get(topic);
    if (id === undefined) throw new Error(`the schema of ${topic} is not registered`);
    return frameJson(id, json);
  }
}

const STATE_EVENTS = [
  ...['machine-state-changed', 'machine-state-corrected'],
  ...['machine-observation-lost', 'machine-observation-restored'],
];
const OUTCOMES = ['applied', 'superseded', 'rejected', 'deferred'].map((kind) => `outcome-${kind}`);

/** The schemas of an output's values, by the names of their files in docs/schemas. */
const OUTPUTS: Readonly<Record<FramedOutput, { title: string; of: readonly string[] }>> = {
  'state-events': { title: 'A change of the state of a machine', of: STATE_EVENTS },
  'latest-states': { title: 'The latest state of a machine', of: ['machine-state'] },
  outcomes: { title: 'What became of an input message', of: OUTCOMES },
};

const readSchema = createRequire(import.meta.url) as (path: `#schemas/${string}`) => JsonObject;

/** The JSON Schema of an output, self-contained: a registry has no file names for references. */
export function outputSchema(output: FramedOutput): object {
  const { title, of } = OUTPUTS[output];
  const definitions: JsonObject = {};
  const anyOf = of.map((name) => ({ $ref: local(`${name}.json`) }));
  return { $schema: 'http://json-schema.org/draft-07/schema#', title, anyOf, definitions };

  /** Adds the target of a reference to the definitions. Returns the reference to it there. */
  function local(reference: string): string {
    const [file = '', name = file] = reference.split(/\.json(?:#\/definitions\/)?/).filter(Boolean);
    if (!Object.hasOwn(definitions, name)) {
      const schema = readSchema(`#schemas/${file}`);
      // reserved before its parts are resolved, which may refer to it
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
