export { DowntimeReasons } from './downtime-reasons.js';
export { DowntimeReasonsModule } from './downtime-reasons.module.js';
