import { describeKills } from '../support/chaos/killed-under-load.js';

describeKills('the bridge under load, killed twenty-one times', {
  groups: 3,
  callsBeforeKill: [1, 200, 60, 320, 10, 120, 280],
});
