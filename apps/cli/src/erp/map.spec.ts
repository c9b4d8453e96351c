import { isClear, MachineProposals } from './map.js';

const machine = (machineId: string, displayName: string, factory = 'F-1') => ({
  ...{ machineId, displayName },
  ...{ factoryId: factory, factoryName: `Plant of ${factory}` },
});
const MACHINES = [
  machine('M-001', 'Milling centre 1'),
  machine('M-002', 'Milling centre 2'),
  machine('FR-03', 'Fräse Halle 3'),
  machine('1001', 'Press 4', '1000'),
  machine('P-9', 'Press 5', '1000'),
  machine('P-10', 'Press 5', '2000'),
];
const proposals = new MachineProposals(MACHINES);
const best = (workCentre: string, plant: string | null = null) => {
  const [first] = proposals.propose({ plant, workCentre });
  return first && [first.machineId, first.score, first.reason];
};

describe('a machine for a work centre', () => {
  it.each([
    ['M-001', ['M-001', 1, 'the same id']],
    ['Press 4', ['1001', 0.98, 'the same name']],
    ['m_01', ['M-001', 0.95, 'the same id but for its spelling']],
    ['FRASE-HALLE-03', ['FR-03', 0.9, 'the same name but for its spelling']],
    ['Milling 2', ['M-002', 0.57, 'a similar name']],
    ['FR1001', ['1001', 0.6, 'the same number in the id']],
  ])('is found by its id or name: %s', (workCentre, expected) => {
    expect(best(workCentre)).toEqual(expected);
  });

  it.each([
    ['another number', 'FR04'],
    ['a number more', 'Milling centre 1 2'],
    ['nothing in common', 'Lathe 1'],
    ['nothing but signs', '--'],
    ['a short number alone', '4'],
  ])('is not found with %s', (_, workCentre) => {
    expect(proposals.propose({ plant: null, workCentre })).toEqual([]);
  });

  it('comes first where its factory is the plant', () => {
    expect(proposals.propose({ plant: '2000', workCentre: 'PRESS5' })).toMatchObject([
      {
        machineId: 'P-10',
        score: 0.94,
        reason: 'the same name but for its spelling, in its factory',
      },
      { machineId: 'P-9', score: 0.9 },
    ]);
  });

  it('is clear where it differs only in spelling and no other one is as similar', () => {
    const isClearFor = (workCentre: string, plant: string | null = null) =>
      isClear(proposals.propose({ plant, workCentre }));
    expect(isClearFor('m_01')).toBe(true);
    expect(isClearFor('PRESS5')).toBe(false);
    expect(isClearFor('PRESS5', '2000')).toBe(true);
    expect(isClearFor('Milling 2')).toBe(false);
    expect(isClearFor('nothing')).toBe(false);
  });

  it('is found among 20,000 for hundreds of work centres', () => {
    const many = new MachineProposals(
      Array.from({ length: 20_000 }, (_, number) =>
        machine(`M-${number}`, `Press ${number % 500}`),
      ),
    );
    for (let number = 0; number < 300; number += 1) {
      expect(many.propose({ plant: '1', workCentre: `m${number}` })[0]?.machineId).toBe(
        `M-${number}`,
      );
    }
  });
});
