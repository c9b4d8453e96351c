import { isOlder, type ListToSet, precedenceOf, sizeOf } from './list-to-set.js';

function listOf(more: Partial<ListToSet> = {}): ListToSet {
  return { machineId: 'M-1', workingOrders: () => ['4711'], cumulative: false, ...more };
}

describe('a list that waits while another one comes', () => {
  it('gives way to the newer one', () => {
    expect(precedenceOf(listOf(), listOf())).toBe('younger');
  });

  it('stays when the other one was issued before it', () => {
    expect(precedenceOf(listOf({ issuedAt: 20 }), listOf({ issuedAt: 10 }))).toBe('older');
  });

  it.each([
    [{ issuedAt: 10 }, { issuedAt: 20 }],
    [{ issuedAt: 10 }, { issuedAt: 10 }],
    [{ issuedAt: 20 }, {}],
    [{}, { issuedAt: 10 }],
  ])('goes by the order of arrival where times do not tell otherwise: %j, %j', (first, second) => {
    expect(precedenceOf(listOf(first), listOf(second))).toBe('younger');
  });

  it('is applied with the later one when both are drawn from the ledger', () => {
    expect(precedenceOf(listOf({ cumulative: true }), listOf({ cumulative: true }))).toBe('both');
  });

  it.each([
    [{ cumulative: true }, {}],
    [{}, { cumulative: true }],
    [{ cumulative: true }, { issuedAt: 10 }],
    [{ issuedAt: 10 }, { cumulative: true }],
  ])(
    'gives way to a list of another source, whichever is drawn from the ledger',
    (first, second) => {
      expect(precedenceOf(listOf(first), listOf(second))).toBe('younger');
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
