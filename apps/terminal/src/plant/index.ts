/**
 * The plant as its topics describe it: machines, their periods, the reasons sent for them and their outcomes. Records
 * come in, views go out; the folder does no I/O. It owns this state, which one reader writes (../kafka).
 */
export { MAX_AGE_SECONDS, refuseEntry } from './entries.js';
export {
  dueFollowUps,
  type FollowUp,
  handOverOf,
  idOfEnd,
  knownEndOf,
  type Machine,
} from './machine.js';
export { Plant, sourceOf, STATION_SOURCE } from './plant.js';
