import { MachinesConcerned } from './failures-in-a-row.js';

describe('machines that something has to do with', () => {
  let machines: MachinesConcerned;

  beforeEach(() => {
    machines = new MachinesConcerned();
  });

  it('are not several while it is one alone, however often', () => {
    expect(machines.areSeveral).toBe(false);
    machines.note('a', false);
    machines.note('a', false);
    expect(machines.areSeveral).toBe(false);
  });

  it('are several from the second on, whichever comes then', () => {
    for (const machineId of ['a', 'b', 'a']) machines.note(machineId, false);
    expect(machines.areSeveral).toBe(true);
  });

  it('are several where one stands for a company', () => {
    machines.note('a', true);
    expect(machines.areSeveral).toBe(true);
  });

  it('are told anew once they are forgotten', () => {
    machines.note('a', true);
    machines.forget();
    machines.note('b', false);
    expect(machines.areSeveral).toBe(false);
  });
});
