import type { TracingSettings } from '#libs/config';
import { NO_TRACING, type TracedProcess, type Tracing } from './tracing.js';

/** Exports spans where settings say so. OpenTelemetry, which takes 20 MB, is not even loaded elsewhere. */
export async function openTracing(
  settings: TracingSettings | undefined,
  process: TracedProcess,
): Promise<Tracing> {
  if (settings === undefined) return NO_TRACING;
  const { OpenTelemetryTracing } = await import('./open-telemetry.js');
  return new OpenTelemetryTracing(settings, process);
}
