import { describeKills } from '../support/chaos/killed-under-load.js';

describeKills('the bridge under load, killed four times', {
  groups: 2,
  callsBeforeKill: [60, 120],
});
