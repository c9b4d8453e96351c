/** What every flow stands on: settings, the clock, the service's client and the ways out to Kafka. Knows no flow. */
export { BoundedMap } from './bounded-map.js';
export {
  BRIDGE_SETTINGS,
  CallLatency,
  KAFKA,
  PlatformModule,
  reasonLookUpsAtOnce,
  TRACING,
} from './platform.module.js';
export { ServiceClockWatch } from './service-clock-watch.js';
