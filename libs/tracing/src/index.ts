/**
 * Traces. The code that does the work calls the port {@link Tracing}, which measures nothing unless an exporter is
 * configured; `open-telemetry.ts` measures with OpenTelemetry, and is loaded by {@link openTracing} alone. Names of
 * spans and attributes are in `attributes.ts`, the form of the headers in `trace-context.ts`.
 */
import type { TracingSettings } from '#libs/config';
import { NO_TRACING, type TracedProcess, type Tracing } from './tracing.js';

export { type TraceContext, traceContextOf, traceHeaders } from './trace-context.js';
export {
  type MessageSpan,
  NO_SPAN,
  NO_TRACING,
  type PollSpan,
  type Span,
  type Tracing,
} from './tracing.js';

/** Exports spans where settings say so. OpenTelemetry, which takes 20 MB, is not even loaded elsewhere. */
export async function openTracing(
  settings: TracingSettings | undefined,
  process: TracedProcess,
): Promise<Tracing> {
  if (settings === undefined) return NO_TRACING;
  const { OpenTelemetryTracing } = await import('./open-telemetry.js');
  return new OpenTelemetryTracing(settings, process);
}
