import type { MessageHeaders } from '#libs/contracts';

/** A span, as the code that does the work sees it. */
export interface Span {
  /** The context for messages and requests that follow from the span; undefined where there is none to propagate. */
  readonly context: TraceContext | undefined;
}

/** Covers a message from its dispatch to its controller until its end is committed. */
export interface MessageSpan extends Span {
  /** Records an outcome, once for each machine of the message. @param code of a rejection */
  recordOutcome(outcome: string, machineId: string | null, code: string | null): void;
  endSpan(how: 'finished' | 'abandoned'): void;
}

/** One HTTP request, to the service or to an ERP. */
export interface RequestSpan extends Span {
  /** @param status of the answer, or the reason why no answer came */
  endSpan(status: number | string): void;
}

/** One poll of a machine: the requests for its state, and the publication of its changes. */
export interface PollSpan extends Span {
  /** @param events number of published events */
  endSpan(events: number): void;
}

export interface TracedMessage {
  /** Without the prefix. */
  readonly topic: string;
  readonly partition: number;
  readonly offset: number;
  readonly key: Buffer | null;
  readonly headers: MessageHeaders;
  readonly bytes: number;
}

export interface TracedRequest {
  /** Origin of the server, if it is not the service. */
  readonly origin?: string;
  readonly operation: string;
  readonly method: string;
  /** From the root of the host, without a query. */
  readonly route: string;
  /** With its query. */
  readonly path: string;
}

/** Facts common to all spans of a process. */
export interface TracedProcess {
  topicPrefix: string;
  groupId: string;
  /** Base URL of the service. */
  baseUrl: string;
}

/** Numbers of spans that the exporter delivered, failed to deliver, and never received. */
type SpanCounts = Readonly<Record<'exported' | 'failed' | 'dropped', number>>;

/** Records spans of the work. By default it records none, see {@link NO_TRACING}. */
export interface Tracing {
  messageStarts(message: TracedMessage): MessageSpan;
  /** @param causes spans of the messages or the poll that the request is made for; without any it has no span */
  requestStarts(request: TracedRequest, causes: readonly Span[]): RequestSpan;
  pollStarts(machineId: string): PollSpan;
  readonly spans: SpanCounts;
  /** Delivers the ended spans, within a deadline. Never rejects. */
  closeTracing(): Promise<void>;
}

type AnySpan = MessageSpan & RequestSpan & PollSpan;

const nothing = (): void => undefined;

export const NO_SPAN: AnySpan = { context: undefined, recordOutcome: nothing, endSpan: nothing };

/** Propagates the context of a message unchanged, as W3C requires of participants that record no span. */
export function propagateContext(context: TraceContext | undefined): AnySpan {
  return context === undefined ? NO_SPAN : { context, recordOutcome: nothing, endSpan: nothing };
}

/** Records nothing. Propagates the context of a message to requests that are made for this message alone. */
export const NO_TRACING: Tracing = {
  messageStarts: ({ headers }) => propagateContext(traceContextOf(headers)),
  requestStarts: (_, causes) =>
    propagateContext(causes.length === 1 ? causes[0]?.context : undefined),
  pollStarts: () => NO_SPAN,
  spans: { exported: 0, failed: 0, dropped: 0 },
  closeTracing: () => Promise.resolve(),
};

/** The headers of W3C Trace Context, which messages and requests carry. */
export interface TraceContext {
  /** In version 00: 55 characters. */
  readonly traceparent: string;
  readonly tracestate?: string | undefined;
}

const TRACEPARENT =
  /^(?!ff)([\da-f]{2})(-(?!0{32})[\da-f]{32}-(?!0{16})[\da-f]{16}-[\da-f]{2})(-.*)?$/s;
/**
 * Printable ASCII, at most the length that W3C requires participants to propagate. With other characters the HTTP
 * request could not be sent, and the bridge would retry the message forever.
 */
const TRACESTATE = /^[\x20-\x7e]{1,512}$/;

/** The trace context in the headers of a record; undefined where it is absent or invalid. */
export function traceContextOf(headers: MessageHeaders): TraceContext | undefined {
  let traceparent: string | undefined;
  let tracestate: string | undefined;
  for (const [name, value] of headers) {
    if (name === 'traceparent') traceparent ??= textOf(value);
    else if (name === 'tracestate') tracestate ??= textOf(value);
  }
  const [, version, idsAndFlags, more] = TRACEPARENT.exec(traceparent ?? '') ?? [];
  // a later version may have further fields, which are left out
  if (idsAndFlags === undefined || (version === '00' && more !== undefined)) return undefined;
  const isPassedOn = tracestate !== undefined && TRACESTATE.test(tracestate);
  return { traceparent: `00${idsAndFlags}`, ...(isPassedOn && { tracestate }) };
}

/** The headers of a record or request that carry the context. */
export function traceHeaders(context: TraceContext | undefined): Record<string, string> {
  if (context === undefined) return {};
  const { traceparent, tracestate } = context;
  return tracestate === undefined ? { traceparent } : { traceparent, tracestate };
}

function textOf(value: Buffer | string | null): string | undefined {
  return typeof value === 'string' ? value : value?.toString('latin1');
}
