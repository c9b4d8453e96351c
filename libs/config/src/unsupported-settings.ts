import { type EnvironmentReader } from './environment-reader.js';

/** A setting that is known and does nothing, and what there is in its place. */
export interface UnsupportedSetting {
  name: string;
  instead: string;
}

const UNSUPPORTED: readonly UnsupportedSetting[] = [
  // Platforms set it for every process they run: no reason not to start.
  {
    name: 'OTEL_EXPORTER_OTLP_ENDPOINT',
    instead:
      'nothing is sent to a collector: let it scrape GET /metrics, and read logs from stdout',
  },
];

/** Those that are set: whoever set them should hear of it. */
export function readUnsupported(env: EnvironmentReader): UnsupportedSetting[] {
  return UNSUPPORTED.filter(({ name }) => env.isSet(name));
}
