import { rejection } from '../../command-delivery/index.js';
import { rejectUnmapped, type UnmappedOperation } from './reject-unmapped.js';

function unmapped(orderId: string, workCentre: string): UnmappedOperation {
  const operation = { operationId: '0010', plant: '1000', workCentre, status: 'released' } as const;
  return { orderId, operation };
}

describe('rejectUnmapped', () => {
  it('has nothing to say when every operation has a machine', () => {
    expect(rejectUnmapped([])).toEqual([]);
  });

  it('makes one rejection of all orders, each place named once', () => {
    const operations = [unmapped('4711', 'A'), unmapped('4711', 'A'), unmapped('4712', 'B')];
    expect(rejectUnmapped(operations)).toEqual([
      rejection({
        code: 'unmapped-work-centre',
        detail:
          'no machine is mapped for plant/work centre 1000/A of order 4711, 1000/B of order 4712',
      }),
    ]);
  });

  it('names five places and counts the rest', () => {
    const operations = ['A', 'B', 'C', 'D', 'E', 'F', 'G'].map((place) => unmapped('4711', place));
    const [result] = rejectUnmapped(operations);
    expect(result).toMatchObject({
      rejection: { detail: expect.stringMatching(/1000\/E of order 4711 and 2 more$/) as string },
    });
  });

  it('shows where an operation does not say where it is done', () => {
    const nowhere = {
      orderId: '4711',
      operation: { operationId: '0010', status: 'held' } as const,
    };
    expect(rejectUnmapped([nowhere])).toMatchObject([
      { rejection: { detail: 'no machine is mapped for plant/work centre ?/? of order 4711' } },
    ]);
  });
});
