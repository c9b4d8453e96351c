/**
 * Traces. The rooms that do the work call the port {@link Tracing}, which measures nothing unless an exporter is
 * configured; `open-telemetry.ts` measures with OpenTelemetry, and is loaded by {@link openTracing} alone. Names of
 * spans and attributes are in `attributes.ts`, the form of the headers in `trace-context.ts`.
 */
export { openTracing } from './open-tracing.js';
export { type TraceContext, traceContextOf, traceHeaders } from './trace-context.js';
export {
  type MessageSpan,
  NO_SPAN,
  NO_TRACING,
  type PollSpan,
  type Span,
  type Tracing,
} from './tracing.js';
