/**
 * Traces. Other code calls the port {@link Tracing}, which records nothing unless an exporter is configured. {@link
 * openTracing} loads `open-telemetry.ts`, which records spans with OpenTelemetry. `attributes.ts` has the names of
 * attributes.
 */
import type { TracingSettings } from '#libs/config';
import { NO_TRACING, type TracedProcess, type Tracing } from './tracing.js';

export {
  type MessageSpan,
  NO_SPAN,
  NO_TRACING,
  type PollSpan,
  type Span,
  type TraceContext,
  traceContextOf,
  traceHeaders,
  type Tracing,
} from './tracing.js';

/** Exports spans if settings are given. Otherwise OpenTelemetry, which takes 20 MB, is not loaded. */
export async function openTracing(
  settings: TracingSettings | undefined,
  process: TracedProcess,
): Promise<Tracing> {
  if (settings === undefined) return NO_TRACING;
  const { OpenTelemetryTracing } = await import('./open-telemetry.js');
  return new OpenTelemetryTracing(settings, process);
}
