import { type Precedence } from '../../delivery/index.js';
import { isOlder, type ListToSet, precedenceOf, sizeOf } from './list-to-set.js';

function listOf(more: Partial<ListToSet> = {}): ListToSet {
  return { machineId: 'M-1', workingOrders: () => ['4711'], cumulative: false, ...more };
}

describe('a list that waits while another one comes', () => {
  const between = (older: ListToSet, younger: ListToSet): Precedence =>
    precedenceOf(older, younger, undefined, false);

  it('gives way to the newer one', () => {
    expect(between(listOf(), listOf())).toBe('younger');
  });

  it('stays when the other one was issued before it', () => {
    expect(between(listOf({ issuedAt: 20 }), listOf({ issuedAt: 10 }))).toBe('older');
  });

  it.each([
    [{ issuedAt: 10 }, { issuedAt: 20 }],
    [{ issuedAt: 10 }, { issuedAt: 10 }],
    [{ issuedAt: 20 }, {}],
    [{}, { issuedAt: 10 }],
  ])('goes by the order of arrival where times do not tell otherwise: %j, %j', (first, second) => {
    expect(between(listOf(first), listOf(second))).toBe('younger');
  });

  describe('and says nothing of when it was issued, while the other one does', () => {
    const between = (issuedAt: number, applied: number | undefined, isCalled: boolean) =>
      precedenceOf(listOf(), listOf({ issuedAt }), applied, isCalled);

    it.each([
      ['younger', 'nothing is known that is newer', undefined, false],
      ['younger', 'it is as new as what was applied', 10, false],
      ['apart', 'it is older than what was applied', 11, false],
      ['apart', 'a list is under way that may be newer', undefined, true],
    ] as const)('comes to %s where %s', (precedence, _name, applied, isCalled) => {
      expect(between(10, applied, isCalled)).toBe(precedence);
    });
  });

  it('is applied with the later one when both are drawn from the ledger', () => {
    expect(between(listOf({ cumulative: true }), listOf({ cumulative: true }))).toBe('both');
  });

  it.each([
    [{ cumulative: true }, {}],
    [{}, { cumulative: true }],
    [{ cumulative: true }, { issuedAt: 10 }],
    [{ issuedAt: 10 }, { cumulative: true }],
  ])(
    'gives way to a list of another source, whichever is drawn from the ledger',
    (first, second) => {
      expect(between(listOf(first), listOf(second))).toBe('younger');
    },
  );
});

describe('a list beside the one applied last', () => {
  it.each([
    [9, 10, true],
    [10, 10, false],
    [11, 10, false],
    [undefined, 10, false],
    [9, undefined, false],
    [0, 1, true],
  ])('issued at %s is older than one issued at %s: %s', (issuedAt, than, expected) => {
    expect(isOlder(listOf(issuedAt === undefined ? {} : { issuedAt }), than)).toBe(expected);
  });
});

describe('the size of a list', () => {
  it.each([0, 1, 50])('is near that of a request, and never below, with %i orders', (count) => {
    const workingOrders = Array.from({ length: count }, (_, index) => `ORDER-${index}`);
    const bytes = JSON.stringify([{ machineId: 'M-1', workingOrders }]).length;
    const size = sizeOf(listOf({ workingOrders: () => workingOrders }));
    expect(size).toBeGreaterThanOrEqual(bytes);
    expect(size).toBeLessThan(bytes + 50);
  });
});
