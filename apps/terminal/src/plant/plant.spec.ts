import { ShiftCalendar } from '#libs/clock';
import { type MachineState, TOPICS } from '#libs/contracts';
import { Plant } from './plant.js';

const calendar = new ShiftCalendar({ timeZone: 'UTC', startTimes: ['06:00'] });
const SIX = Date.parse('2025-11-21T06:00:00Z') / 1000;
const STOPPED_AT = SIX + 3600;

function plantWith(state: MachineState, startTime: number): Plant {
  const plant = new Plant({
    ...{ topicPrefix: '', calendar, stopThresholdSeconds: 120 },
    plantSeconds: (timestampMs) => timestampMs / 1000,
  });
  const latest = { machineId: 'M-1', factoryId: 'F-1', state, startTime, observation: 'ok' };
  plant.take({
    ...{ topic: TOPICS.states, partition: 0, offset: 0, timestamp: '0', headers: [] },
    ...{ key: Buffer.from('M-1'), value: Buffer.from(JSON.stringify(latest)) },
  });
  return plant;
}

describe('a stop that comes to need a reason', () => {
  it('is a change for those who follow the plant, though somebody else asked for the machine first', () => {
    const plant = plantWith('IDLE', STOPPED_AT);
    const machine = plant.machines.get('M-1')!;
    expect([...plant.takeChanges().machineIds]).toEqual(['M-1']);
    expect(plant.evaluate(machine, STOPPED_AT + 60).tile.openStops).toEqual([]);

    expect(plant.evaluate(machine, STOPPED_AT + 121).tile.openStops).toHaveLength(1);

    plant.markDue(STOPPED_AT + 121);
    expect([...plant.takeChanges().machineIds]).toEqual(['M-1']);
    plant.markDue(STOPPED_AT + 122);
    expect([...plant.takeChanges().machineIds]).toEqual([]);
  });
});
