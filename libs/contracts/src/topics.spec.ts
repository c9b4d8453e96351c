import { FLOWS } from './flows.js';
import { bridgeTopics } from './topics.js';

describe('the topics that the bridge creates', () => {
  it('are compacted while they grow, since each start reads them from the beginning', () => {
    const kafka = { topicPrefix: 'plant-', createTopics: true };
    const compacted = bridgeTopics({ kafka, flows: new Set(FLOWS) }).filter(
      ({ cleanupPolicy }) => cleanupPolicy === 'compact',
    );
    expect(compacted.map(({ name }) => name)).toContain('plant-machine.states.v1');
    for (const topic of compacted) expect(topic).toMatchObject({ maxCompactionLagMs: 3_600_000 });
  });
});
