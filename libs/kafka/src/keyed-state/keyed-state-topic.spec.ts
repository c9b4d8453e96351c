import { getEventListeners } from 'node:events';
import type { KafkaClient } from '../client/kafka-port.js';
import { KeyedState } from './keyed-state-topic.js';

type Owned = Parameters<KeyedState<number, object>['own']>[0];

describe('KeyedState', () => {
  it('keeps one holder of a partition that is restored often, as while its writes fail', () => {
    const holders: object[] = [];
    const state = new KeyedState<number, object>({
      ...{ kafka: {} as KafkaClient, name: 'machine-bridge.counts.v1' },
      ...{ groupId: 'group', parse: Number },
      onOwned: ({ partition }) => {
        holders.push({ partition });
        return holders.at(-1)!;
      },
    });
    const losing = new AbortController();
    const { signal: lost } = losing;
    for (let restores = 0; restores < 20; restores += 1) state.own({ partition: 3, lost } as Owned);
    expect(state.holders.size).toBe(1);
    expect(state.holders.get(3)).toBe(holders.at(-1));
    // Node warns of more than ten, in lines that are not JSON.
    expect(getEventListeners(lost, 'abort')).toHaveLength(1);
    losing.abort();
    expect(state.holders.size).toBe(0);
  });
});
