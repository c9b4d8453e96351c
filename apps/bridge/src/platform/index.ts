/** What every room stands on: settings, the clock, the client of the service and the ways out to Kafka. Knows no flow. */
export { BoundedMap } from './bounded-map.js';
export { reasonLookUpsAtOnce } from './calls-at-once.js';
export { CloudCalls } from './cloud-calls.js';
export { PlatformModule } from './platform.module.js';
export { scrapedCounter, scrapedGauge } from './scraped-metrics.js';
export { ServiceClockWatch } from './service-clock-watch.js';
export { BRIDGE_SETTINGS, KAFKA, TRACING } from './tokens.js';
