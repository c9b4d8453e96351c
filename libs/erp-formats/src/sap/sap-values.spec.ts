import { operationIdOf, statusOf } from './sap-values.js';

describe('system statuses of SAP', () => {
  it.each([
    [['I0001'], 'planned'],
    [['I0002', 'I0016', 'I0340'], 'released'],
    [['I0042', 'I0001'], 'released'],
    [['I0010', 'I0002'], 'started'],
    [['I0002', 'I0043'], 'held'],
    [['I0002', 'I0009'], 'completed'],
    [['I0002', 'I0043', 'I0045'], 'completed'],
    [['I0002', 'I0045', 'I0046', 'I0076'], 'cancelled'],
    [['I0002', 'I0013'], 'cancelled'],
    [['I0016'], undefined],
    [[], undefined],
  ])('%j amount to %s', (codes, status) => {
    expect(statusOf(codes)).toBe(status);
  });
});

describe('the id of an SAP operation', () => {
  it.each([
    [undefined, '0010'],
    ['', '0010'],
    ['0', '0010'],
    ['000000', '0010'],
    ['1', '0010/1'],
    ['10', '0010/10'],
    ['000002', '0010/000002'],
    ['A', '0010/A'],
  ])('in sequence %j is %s', (sequence, id) => {
    expect(operationIdOf('0010', sequence)).toBe(id);
  });
});
