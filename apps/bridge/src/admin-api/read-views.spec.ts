import { type MachineStateRecord, OUTCOME_TYPES } from '#libs/contracts';
import type { RecentOutcome } from '../delivery/index.js';
import { type KnownOfMachine, machineDetails } from './machines.controller.js';

const NOTHING: KnownOfMachine = { state: undefined, list: undefined, outcomes: [] };
const list = { workingOrders: ['4711'], appliedAt: 100 };
const outcome: RecentOutcome = {
  type: OUTCOME_TYPES.workOrderListApplied,
  ...{ machineId: 'M-1', orderId: '4711', code: null, detail: null, attempts: 1, appliedAt: 100 },
  source: { topic: 'lists', partition: 0, offset: 7, messageId: null, sender: 'erp' },
};
const state: MachineStateRecord = {
  ...{ machineId: 'M-1', factoryId: 'F-1', displayName: 'Press', state: null, startTime: null },
  ...{ observation: 'ok', lastUpdateTime: null, sequence: 0, settledUntil: null },
};

describe('the details of a machine that the service does not list', () => {
  it('are none when nothing else is known of it', () => {
    expect(machineDetails('M-1', undefined, NOTHING)).toBeUndefined();
  });

  it('have its list and its outcomes all the same, as where the token may not read machines', () => {
    const unnamed = { machineId: 'M-1', displayName: 'M-1', factoryId: '', factoryName: '' };
    expect(machineDetails('M-1', undefined, { ...NOTHING, list })).toEqual({
      ...{ ...unnamed, state: null, workOrderList: list, lastOutcomes: [] },
    });
    expect(machineDetails('M-1', undefined, { ...NOTHING, outcomes: [outcome] })).toEqual({
      ...{ ...unnamed, state: null, workOrderList: null, lastOutcomes: [outcome] },
    });
  });

  it('name it as its state does', () => {
    expect(machineDetails('M-1', undefined, { ...NOTHING, state })).toMatchObject({
      ...{ machineId: 'M-1', displayName: 'Press', factoryId: 'F-1', state },
    });
  });
});
