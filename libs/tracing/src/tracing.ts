import type { MessageHeaders } from '#libs/contracts';
import { type TraceContext, traceContextOf } from './trace-context.js';

/** Something that takes time in a trace. */
export interface Span {
  /** What follows of it carries this; undefined where there is nothing to carry. */
  readonly context: TraceContext | undefined;
}

/** A message from its hand-over to its controller until its end is committed. */
export interface MessageSpan extends Span {
  /**
   * What became of it, once for each machine it names.
   *
   * @param code of a rejection
   */
  outcome(outcome: string, machineId: string | null, code: string | null): void;
  end(how: 'finished' | 'abandoned'): void;
}

/** One HTTP request, to the service or to an ERP. */
export interface RequestSpan extends Span {
  /** @param status of the answer, or why there is none */
  end(status: number | string): void;
}

/** One turn of a machine: the requests that ask for its state, and the publication of what has changed. */
export interface PollSpan extends Span {
  /** @param events that were published */
  end(events: number): void;
}

/** What is said of a message. */
export interface TracedMessage {
  /** Without the prefix. */
  readonly topic: string;
  readonly partition: number;
  readonly offset: number;
  readonly key: Buffer | null;
  readonly headers: MessageHeaders;
  readonly bytes: number;
}

/** What is said of a request. */
export interface TracedRequest {
  /** Origin of whoever is asked, where that is not the service. */
  readonly origin?: string;
  readonly operation: string;
  readonly method: string;
  /** From the root of the host, without a query. */
  readonly route: string;
  /** With its query. */
  readonly path: string;
}

/** What all spans of a process have in common. */
export interface TracedProcess {
  topicPrefix: string;
  groupId: string;
  /** Base URL of the service. */
  baseUrl: string;
}

/** How many spans of this process the exporter has taken, could not deliver, and never got. */
type SpanCounts = Readonly<Record<'exported' | 'failed' | 'dropped', number>>;

/** What the code that does the work reports, for traces. By default nothing comes of it, see {@link NO_TRACING}. */
export interface Tracing {
  messageStarts(message: TracedMessage): MessageSpan;
  /** @param causes what the request is made for; one that is made for nothing in particular has no span */
  requestStarts(request: TracedRequest, causes: readonly Span[]): RequestSpan;
  pollStarts(machineId: string): PollSpan;
  readonly spans: SpanCounts;
  /** Delivers what has ended, within its deadline. Never rejects. */
  close(): Promise<void>;
}

type AnySpan = MessageSpan & RequestSpan & PollSpan;

const nothing = (): void => undefined;

export const NO_SPAN: AnySpan = { context: undefined, outcome: nothing, end: nothing };

/** The context that a message came with, passed on as it is: W3C asks that of whoever takes no part in a trace. */
export function passOn(context: TraceContext | undefined): AnySpan {
  return context === undefined ? NO_SPAN : { context, outcome: nothing, end: nothing };
}

/** Measures nothing, and passes on the context of a message to what follows of that message alone. */
export const NO_TRACING: Tracing = {
  messageStarts: ({ headers }) => passOn(traceContextOf(headers)),
  requestStarts: (_, causes) => passOn(causes.length === 1 ? causes[0]?.context : undefined),
  pollStarts: () => NO_SPAN,
  spans: { exported: 0, failed: 0, dropped: 0 },
  close: () => Promise.resolve(),
};
