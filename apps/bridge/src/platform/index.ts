/** What every flow stands on: settings, the clock, the service's client and the ways out to Kafka. Knows no flow. */
export { BoundedMap } from './bounded-map.js';
export { reasonLookUpsAtOnce } from './calls-at-once.js';
export { CloudCalls } from './cloud-calls.js';
export { PlatformModule } from './platform.module.js';
export { ServiceClockWatch } from './service-clock-watch.js';
export { BRIDGE_SETTINGS, KAFKA, TRACING } from './tokens.js';
