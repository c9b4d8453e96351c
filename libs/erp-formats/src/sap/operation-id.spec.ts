import { operationIdOf } from './operation-id.js';

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
