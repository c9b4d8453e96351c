import { jest } from '@jest/globals';
import { Registry } from 'prom-client';
import { flowMetrics } from './metrics-registry.js';

type Flow = Parameters<typeof flowMetrics>[0][number];

describe('flowMetrics', () => {
  const reasons: Flow = {
    name: 'downtime-reasons',
    waiting: 0,
    busyMachines: 0,
    pausedBecause: undefined,
    waiters: { oldestAgeMs: () => 0 },
    caller: { retries: { service: 0, forbidden: 0 }, splits: 0 },
  };
  let lists: Flow;
  let registry: Registry;

  beforeEach(() => {
    lists = {
      name: 'work-orders',
      waiting: 7,
      busyMachines: 3,
      pausedBecause: 'HTTP 503',
      waiters: { oldestAgeMs: (nowMs) => nowMs - 1000 },
      caller: { retries: { service: 4, forbidden: 1 }, splits: 2 },
    };
    jest.spyOn(performance, 'now').mockReturnValue(3500);
    registry = new Registry();
    for (const metric of flowMetrics([lists, reasons])) registry.registerMetric(metric);
  });

  const samples = async (): Promise<string[]> => {
    const text = await registry.metrics();
    return text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  };

  it('reports for each flow what waits, for how long, and whether calls get through', async () => {
    expect(await samples()).toEqual(
      expect.arrayContaining([
        'machine_bridge_waiting_commands{flow="work-orders"} 7',
        'machine_bridge_busy_machines{flow="work-orders"} 3',
        'machine_bridge_oldest_waiting_seconds{flow="work-orders"} 2.5',
        'machine_bridge_flow_paused{flow="work-orders"} 1',
        'machine_bridge_waiting_commands{flow="downtime-reasons"} 0',
        'machine_bridge_oldest_waiting_seconds{flow="downtime-reasons"} 0',
        'machine_bridge_flow_paused{flow="downtime-reasons"} 0',
      ]),
    );
  });

  it('counts retries by cause, and calls that were split', async () => {
    const counted = [
      'machine_bridge_call_retries_total{flow="work-orders",cause="service"} 4',
      'machine_bridge_call_retries_total{flow="work-orders",cause="forbidden"} 1',
      'machine_bridge_call_retries_total{flow="downtime-reasons",cause="service"} 0',
      'machine_bridge_split_calls_total{flow="work-orders"} 2',
      'machine_bridge_split_calls_total{flow="downtime-reasons"} 0',
    ];
    // the same at each scrape while nothing changes
    for (let scrape = 0; scrape < 2; scrape += 1) {
      expect(await samples()).toEqual(expect.arrayContaining(counted));
    }
  });
});
