import { randomUUID } from 'node:crypto';
import { Logger } from '@nestjs/common';
import {
  type Context,
  createTraceState,
  ROOT_CONTEXT,
  type Span as ApiSpan,
  type SpanContext,
  SpanKind,
  SpanStatusCode,
  trace,
  TraceFlags,
  type Tracer,
} from '@opentelemetry/api';
import { OTLPTraceExporter as JsonExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { OTLPTraceExporter as ProtobufExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import { defaultResource, resourceFromAttributes } from '@opentelemetry/resources';
import {
  AlwaysOnSampler,
  BatchSpanProcessor,
  ParentBasedSampler,
  type ReadableSpan,
  type Sampler,
  type SpanProcessor,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace';
import { CompressionAlgorithm } from '@opentelemetry/otlp-exporter-base';
import { realNowMs, withDeadline } from '#libs/clock';
import type { TracingSettings } from '#libs/config';
import { VERSION } from '#libs/program';
import { ATTRIBUTES as A, OUTCOME_EVENT } from './attributes.js';
import {
  type MessageSpan,
  NO_SPAN,
  NO_TRACING,
  propagateContext,
  type PollSpan,
  type RequestSpan,
  type Span,
  type TraceContext,
  traceContextOf,
  type TracedMessage,
  type TracedProcess,
  type TracedRequest,
  type Tracing,
} from './tracing.js';

/**
 * Spans that the collector has not accepted by then are dropped. A part of the fourteen seconds that a stop may take.
 */
const CLOSE_DEADLINE_MS = 2000;
const LOG_AGAIN_MS = 60_000;
/** Longer keys, which may have a megabyte, are left out of a span. */
const LONGEST_KEY_BYTES = 256;
/** Messages of the bridge's own queues continue a trace, and begin none. */
const OWN_TOPIC = 'machine-bridge.';
/** Bounds of the SDK for the links and events of a span: further ones would replace the first. */
const MAX_LINKS = 128;
const MAX_OUTCOMES = 128;

/** Records spans with OpenTelemetry, and exports them to a collector by OTLP over HTTP. */
export class OpenTelemetryTracing implements Tracing {
  private readonly tracer: Tracer;
  private readonly provider: TracerProvider;
  private readonly delivery: SpanDelivery;
  private readonly origin: URL;
  private readonly sampler: TracingSettings['sampler'];

  constructor(
    settings: TracingSettings,
    private readonly process: TracedProcess,
  ) {
    this.origin = new URL(process.baseUrl);
    this.sampler = settings.sampler;
    this.delivery = new SpanDelivery(settings);
    const resource = defaultResource().merge(
      resourceFromAttributes({
        'service.version': VERSION,
        'service.instance.id': randomUUID(),
        ...settings.resourceAttributes,
        'service.name': settings.serviceName,
      }),
    );
    this.provider = new TracerProvider({
      resource,
      sampler: samplerOf(settings.sampler),
      spanProcessors: [this.delivery],
    });
    this.tracer = this.provider.getTracer('machine-bridge', VERSION);
  }

  get spans(): SpanDelivery['counts'] {
    return this.delivery.counts;
  }

  messageStarts(message: TracedMessage): MessageSpan {
    const { topic, partition, offset, key, bytes } = message;
    const parent = traceContextOf(message.headers);
    if (parent === undefined && topic.startsWith(OWN_TOPIC)) return NO_SPAN;
    if (!this.isSampled(parent)) return propagateContext(parent);
    const { topicPrefix, groupId } = this.process;
    const name = `${topicPrefix}${topic}`;
    const span = this.tracer.startSpan(
      `process ${name}`,
      {
        kind: SpanKind.CONSUMER,
        attributes: {
          [A.messagingSystem]: 'kafka',
          [A.operationName]: 'process',
          [A.operationType]: 'process',
          [A.topic]: name,
          [A.partition]: String(partition),
          [A.offset]: offset,
          [A.group]: groupId,
          [A.envelopeSize]: bytes,
          ...(key !== null && key.length <= LONGEST_KEY_BYTES && { [A.key]: key.toString() }),
        },
      },
      parent === undefined ? ROOT_CONTEXT : remoteContext(parent),
    );
    return span.isRecording() ? new RecordedMessage(span) : propagateContext(parent);
  }

  /**
   * The span of a request is the child of the first sampled cause, and is recorded if any cause is sampled. Where
   * several are, it has links to all of them, and each of the others has a link to it.
   */
  requestStarts(request: TracedRequest, causes: readonly Span[]): RequestSpan {
    const sampled = causes.filter((cause) => cause instanceof RecordedSpan).slice(0, MAX_LINKS);
    const [parent, ...others] = sampled;
    if (parent === undefined) return NO_TRACING.requestStarts(request, causes);
    const { operation, method, route, path } = request;
    const { origin, hostname, protocol, port } =
      request.origin === undefined ? this.origin : new URL(request.origin);
    const span = this.tracer.startSpan(
      `${method} ${route}`,
      {
        kind: SpanKind.CLIENT,
        attributes: {
          [A.operation]: operation,
          [A.method]: method,
          [A.url]: `${origin}${path}`,
          [A.urlTemplate]: route,
          [A.serverAddress]: hostname,
          [A.serverPort]: Number(port) || (protocol === 'https:' ? 443 : 80),
        },
        links: others.length === 0 ? [] : sampled.map((each) => ({ context: each.spanContext })),
      },
      trace.setSpan(ROOT_CONTEXT, parent.span),
    );
    for (const other of others) other.span.addLink({ context: span.spanContext() });
    return new RecordedRequest(span);
  }

  pollStarts(machineId: string): PollSpan {
    if (!this.isSampled(undefined)) return NO_SPAN;
    const attributes = { [A.machineId]: machineId };
    return new RecordedPoll(this.tracer.startSpan('poll machine', { attributes }, ROOT_CONTEXT));
  }

  /**
   * Whether a span may be recorded, decided before the span is created: the ids and the header of a span that is not
   * sampled took 2 µs a message, 4 % of the time of a list. A trace of another program that has to be sampled by its
   * id is left to the SDK's sampler.
   */
  private isSampled(parent: TraceContext | undefined): boolean {
    const { ratio, isParentBased } = this.sampler;
    if (parent === undefined) return Math.random() < ratio;
    return !isParentBased || (flagsOf(parent) & TraceFlags.SAMPLED) !== 0;
  }

  closeTracing(): Promise<void> {
    return this.provider.shutdown();
  }
}

class RecordedSpan implements Span {
  private knownContext: TraceContext | undefined;

  constructor(readonly span: ApiSpan) {}

  get context(): TraceContext {
    return (this.knownContext ??= contextOf(this.spanContext));
  }

  get spanContext(): SpanContext {
    return this.span.spanContext();
  }

  protected setError(errorType: string): void {
    this.span.setAttribute(A.errorType, errorType).setStatus({ code: SpanStatusCode.ERROR });
  }
}

class RecordedMessage extends RecordedSpan implements MessageSpan {
  private outcomes = 0;

  recordOutcome(outcome: string, machineId: string | null, code: string | null): void {
    const { span } = this;
    if (this.outcomes === MAX_OUTCOMES) return;
    this.outcomes += 1;
    span.addEvent(OUTCOME_EVENT, {
      [A.outcome]: outcome,
      ...(machineId !== null && { [A.machineId]: machineId }),
      ...(code !== null && { [A.code]: code }),
    });
    if (code !== null) this.setError(code);
  }

  endSpan(how: 'finished' | 'abandoned'): void {
    if (how === 'abandoned') this.setError(how);
    this.span.end();
  }
}

class RecordedRequest extends RecordedSpan implements RequestSpan {
  endSpan(status: number | string): void {
    if (typeof status === 'number') this.span.setAttribute(A.status, status);
    if (typeof status === 'string' || status >= 400) this.setError(String(status));
    this.span.end();
  }
}

class RecordedPoll extends RecordedSpan implements PollSpan {
  endSpan(events: number): void {
    this.span.setAttribute(A.events, events);
    this.span.end();
  }
}

function remoteContext(context: TraceContext): Context {
  const { traceparent, tracestate } = context;
  const [, traceId = '', spanId = ''] = traceparent.split('-');
  return trace.setSpanContext(ROOT_CONTEXT, {
    traceId,
    spanId,
    traceFlags: flagsOf(context),
    isRemote: true,
    ...(tracestate !== undefined && { traceState: createTraceState(tracestate) }),
  });
}

function contextOf({ traceId, spanId, traceFlags, traceState }: SpanContext): TraceContext {
  const traceparent = `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, '0')}`;
  const tracestate = traceState?.serialize();
  return { traceparent, ...(tracestate && { tracestate }) };
}

function flagsOf({ traceparent }: TraceContext): number {
  return Number.parseInt(traceparent.slice(-2), 16);
}

/** The SDK's sampler, for spans that {@link OpenTelemetryTracing.isSampled} admits. */
function samplerOf({ ratio, isParentBased }: TracingSettings['sampler']): Sampler {
  const root = new AlwaysOnSampler();
  if (isParentBased) return new ParentBasedSampler({ root });
  const ofTrace = new TraceIdRatioBasedSampler(ratio);
  return new ParentBasedSampler({
    root,
    remoteParentSampled: ofTrace,
    remoteParentNotSampled: ofTrace,
  });
}

/**
 * Bounds and counts the spans that wait for the collector. The SDK bounds its queue too, but does not report how many
 * spans it drops.
 */
class SpanDelivery implements SpanProcessor {
  readonly counts = { exported: 0, failed: 0, dropped: 0 };
  private readonly logger = new Logger('Traces');
  private readonly batches: BatchSpanProcessor;
  private readonly maxWaiting: number;
  private waiting = 0;
  private exporting = 0;
  /** Spans lost since the latest log line. */
  private lost = 0;
  private loggedMs = -Infinity;

  constructor({ exporter, queue }: TracingSettings) {
    const { url, headers, timeoutMs, format, isCompressed } = exporter;
    const Exporter = format === 'json' ? JsonExporter : ProtobufExporter;
    const delegate = new Exporter({
      ...{ url, headers, timeoutMillis: timeoutMs },
      compression: isCompressed ? CompressionAlgorithm.GZIP : CompressionAlgorithm.NONE,
    });
    this.maxWaiting = queue.maxSpans;
    this.batches = new BatchSpanProcessor({
      exporter: {
        export: (spans, done) => {
          this.waiting -= spans.length;
          this.exporting += spans.length;
          delegate.export(spans, (result) => {
            this.recordExport(spans.length, result.error);
            done(result);
          });
        },
        shutdown: () => delegate.shutdown(),
      },
      maxQueueSize: queue.maxSpans,
      maxExportBatchSize: queue.maxBatch,
      scheduledDelayMillis: queue.delayMs,
      // after the exporter's own deadline, by which it calls back
      exportTimeoutMillis: 2 * timeoutMs,
    });
  }

  onStart(): void {
    // a span is exported once it has ended
  }

  onEnd(span: ReadableSpan): void {
    if (this.waiting === this.maxWaiting) {
      this.counts.dropped += 1;
      this.reportLoss(1, 'more spans end than the collector takes');
      return;
    }
    this.waiting += 1;
    this.batches.onEnd(span);
  }

  forceFlush(): Promise<void> {
    return this.batches.forceFlush();
  }

  async shutdown(): Promise<void> {
    await withDeadline(this.batches.shutdown(), CLOSE_DEADLINE_MS);
    const left = this.waiting + this.exporting;
    if (left === 0) return;
    this.counts.dropped += left;
    this.loggedMs = -Infinity;
    this.reportLoss(
      left,
      `the collector has not taken them ${CLOSE_DEADLINE_MS} ms after the stop`,
    );
  }

  private recordExport(spans: number, error: Error | undefined): void {
    this.exporting -= spans;
    if (error === undefined) {
      this.counts.exported += spans;
      return;
    }
    this.counts.failed += spans;
    this.reportLoss(spans, error.message);
  }

  /** Logs one line a minute at most, so that an unreachable collector does not fill the log. */
  private reportLoss(spans: number, why: string): void {
    this.lost += spans;
    const nowMs = realNowMs();
    if (nowMs - this.loggedMs < LOG_AGAIN_MS) return;
    this.logger.warn({ msg: 'spans not exported', spans: this.lost, why });
    this.lost = 0;
    this.loggedMs = nowMs;
  }
}
