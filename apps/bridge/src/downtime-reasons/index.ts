/**
 * Downtime reasons of the terminals, from `mes.downtime-reasons.v1` to the service (interface,
 * setMachineClassification). Owns one flow of commands, each in a call of its own. A reason is *postponed* while its
 * start lies ahead, *looked up* if the directory does not know its machine or reason, then *called*. Uses delivery and
 * the machine directory.
 */
export { DowntimeReasons } from './downtime-reasons.js';
export { DowntimeReasonsModule } from './downtime-reasons.module.js';
