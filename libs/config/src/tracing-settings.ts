import type { EnvironmentReader, UnsupportedSetting } from './environment-reader.js';

/** Exporter and sampler of spans, see docs/traces.md. */
export type TracingSettings = NonNullable<ReturnType<typeof readTracingSettings>>;

interface Sampler {
  /** Share of the traces that begin here; without isParentBased, of all traces. */
  ratio: number;
  /** A trace that began in another program keeps that program's decision. */
  isParentBased: boolean;
}

const LONGEST_DELAY_MS = 60_000;
const MOST_SPANS = 65_536;
/** The default comes first. */
const SAMPLERS: Readonly<Record<string, { ratio?: number; isParentBased: boolean }>> = {
  parentbased_always_on: { ratio: 1, isParentBased: true },
  parentbased_always_off: { ratio: 0, isParentBased: true },
  parentbased_traceidratio: { isParentBased: true },
  always_on: { ratio: 1, isParentBased: false },
  always_off: { ratio: 0, isParentBased: false },
  traceidratio: { isParentBased: false },
};
/** Settings of files that the exporter reads itself. */
const CERTIFICATES = ['CERTIFICATE', 'CLIENT_CERTIFICATE', 'CLIENT_KEY'];

/**
 * Reads OpenTelemetry's standard settings; undefined where no spans are exported. Platforms set them for every process,
 * so an invalid one does not prevent the start: it is added to `unsupported`.
 */
export function readTracingSettings(env: EnvironmentReader, unsupported: UnsupportedSetting[]) {
  const otel = new StandardSettings(env);
  const isDisabled = otel.oneOf('OTEL_SDK_DISABLED', ['false', 'true']) === 'true';
  const isNone = otel.oneOf('OTEL_TRACES_EXPORTER', ['otlp', 'none']) === 'none';
  const [endpoint, url] = otel.readEndpoint();
  const resourceAttributes = otel.parsePairs(
    'OTEL_RESOURCE_ATTRIBUTES',
    env.optional('OTEL_RESOURCE_ATTRIBUTES'),
  );
  const ofResource = resourceAttributes['service.name'] ?? '';
  const settings = {
    exporter: {
      /** URL of the collector for traces, path included. */
      url: url ?? '',
      format: otel
        .oneOf(otel.nameForTraces('PROTOCOL'), ['http/protobuf', 'http/json'])
        .endsWith('json')
        ? ('json' as const)
        : ('protobuf' as const),
      headers: otel.readHeaders(),
      timeoutMs: otel.integer(otel.nameForTraces('TIMEOUT'), 10_000, LONGEST_DELAY_MS),
      isCompressed: otel.oneOf(otel.nameForTraces('COMPRESSION'), ['none', 'gzip']) === 'gzip',
    },
    serviceName: env.text('OTEL_SERVICE_NAME', ofResource === '' ? 'machine-bridge' : ofResource),
    resourceAttributes,
    sampler: otel.readSampler(),
    queue: {
      maxSpans: otel.integer('OTEL_BSP_MAX_QUEUE_SIZE', 2048, MOST_SPANS),
      maxBatch: otel.integer('OTEL_BSP_MAX_EXPORT_BATCH_SIZE', 512, MOST_SPANS),
      delayMs: otel.integer('OTEL_BSP_SCHEDULE_DELAY', 5000, LONGEST_DELAY_MS),
    },
  };
  otel.oneOf('OTEL_PROPAGATORS', ['tracecontext', 'tracecontext,baggage']);
  for (const name of CERTIFICATES) otel.nameForTraces(name);
  if (isDisabled || isNone || endpoint === undefined) return undefined;
  unsupported.push(...otel.faults, ...unknownSettings(env));
  return url === undefined ? undefined : settings;
}

function unknownSettings(env: EnvironmentReader): UnsupportedSetting[] {
  const given = env.unreadNames('OTEL_').filter((name) => env.optional(name) !== 'none');
  return given.map((name) => ({
    name,
    instead: /METRIC|LOG/.test(name)
      ? 'traces alone are exported: let Prometheus scrape GET /metrics, and read logs from stdout'
      : 'the bridge does not know it: docs/traces.md has those that it does',
  }));
}

/** HTTP field names and values; the exporter could not send others. */
const HEADER_NAME = /^[!#$%&'*+.^_`|~\w-]+$/;
const HEADER_VALUE = /^[\x20-\x7e]*$/;

class StandardSettings {
  /** Invalid settings, whose defaults apply. */
  readonly faults: UnsupportedSetting[] = [];

  constructor(private readonly env: EnvironmentReader) {}

  /** @param known the default comes first */
  oneOf(name: string, known: readonly [string, ...string[]]): string {
    const [fallback] = known;
    const given = this.env.text(name, fallback).toLowerCase().replace(/\s/g, '');
    if (known.includes(given)) return given;
    this.addFault(name, `known are ${known.join(' and ')}: ${fallback} holds`);
    return fallback;
  }

  integer(name: string, fallback: number, max: number): number {
    const text = this.env.text(name, String(fallback));
    const value = Number(text);
    if (/^\d+$/.test(text) && value >= 1 && value <= max) return value;
    this.addFault(name, `must be a whole number from 1 to ${max}: ${fallback} holds`);
    return fallback;
  }

  /** The setting of the collector, and the URL for traces if it is valid. */
  readEndpoint(): [endpoint: string | undefined, url?: string] {
    const name = this.nameForTraces('ENDPOINT');
    const endpoint = this.env.optional(name);
    if (endpoint === undefined) return [undefined];
    const isOfTraces = name.includes('_TRACES_');
    const text = isOfTraces ? endpoint : `${endpoint.replace(/\/+$/, '')}/v1/traces`;
    // plain http is common for a collector in the same cluster
    if (URL.canParse(text)) {
      const { protocol, username, password, href } = new URL(text);
      if (/^https?:$/.test(protocol) && username + password === '') return [endpoint, href];
    }
    this.addFault(name, 'must be an http or https URL without a login: no spans are exported');
    return [endpoint];
  }

  /** Headers for all signals, overridden by those for traces. */
  readHeaders(): Record<string, string> {
    const names = ['OTEL_EXPORTER_OTLP_HEADERS', 'OTEL_EXPORTER_OTLP_TRACES_HEADERS'];
    const headers = Object.assign(
      {},
      ...names.map((name) => this.parsePairs(name, this.env.secret(name))),
    ) as Record<string, string>;
    const isSendable = ([name, value]: [string, string]) =>
      HEADER_NAME.test(name) && HEADER_VALUE.test(value);
    if (Object.entries(headers).every(isSendable)) return headers;
    this.addFault(names.join(', '), 'must be headers of HTTP, name=value by commas: none is sent');
    return {};
  }

  /** Parses `name=value` separated by commas, with percent-encoded values. */
  parsePairs(name: string, text: string | undefined): Record<string, string> {
    try {
      const items = (text ?? '').split(',').filter((item) => item.trim() !== '');
      return Object.fromEntries(items.map(pairOf));
    } catch {
      this.addFault(name, 'must be name=value by commas, values percent-encoded: none of it holds');
      return {};
    }
  }

  readSampler(): Sampler {
    const [first = '', ...others] = Object.keys(SAMPLERS);
    const name = this.oneOf('OTEL_TRACES_SAMPLER', [first, ...others]);
    const { ratio, isParentBased = true } = SAMPLERS[name] ?? {};
    const argument = this.env.optional('OTEL_TRACES_SAMPLER_ARG');
    if (ratio !== undefined) return { ratio, isParentBased };
    if (argument === undefined) return { ratio: 1, isParentBased };
    const share = Number(argument);
    if (share >= 0 && share <= 1) return { ratio: share, isParentBased };
    this.addFault(
      'OTEL_TRACES_SAMPLER_ARG',
      'must be a number from 0 to 1: all traces are sampled',
    );
    return { ratio: 1, isParentBased };
  }

  /** The name of the setting for traces if set, else that for all signals. */
  nameForTraces(name: string): string {
    const ofTraces = `OTEL_EXPORTER_OTLP_TRACES_${name}`;
    const ofAll = `OTEL_EXPORTER_OTLP_${name}`;
    // reads both, so that both count as known
    const [isOfTraces] = [this.env.isSet(ofTraces), this.env.isSet(ofAll)];
    return isOfTraces ? ofTraces : ofAll;
  }

  private addFault(name: string, instead: string): void {
    this.faults.push({ name, instead });
  }
}

function pairOf(item: string): [name: string, value: string] {
  const [, name = '', value = ''] = /^([^=]+)=(.*)$/.exec(item) ?? [];
  if (name.trim() === '') throw new Error('no pair');
  return [decodeURIComponent(name.trim()), decodeURIComponent(value.trim())];
}
