/** Settings, clock, client of the service and Kafka producers that all flows share. Depends on no flow. */
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
