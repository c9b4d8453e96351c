/**
 * What the topics say of the plant, folded: machines, their periods, the reasons sent for them and what became of
 * these. Records in, views out; nothing here reads, sends or waits. The folder owns all of that state, which one
 * reader writes (see ../kafka).
 */
export { MAX_AGE_SECONDS, refuseEntry } from './entries.js';
export { dueFollowUps, type FollowUp, handOverOf, idOfEnd, type Machine } from './machine.js';
export { Plant, sourceOf, STATION_SOURCE } from './plant.js';
