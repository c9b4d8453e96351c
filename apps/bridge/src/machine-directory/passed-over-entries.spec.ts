import { jest } from '@jest/globals';
import { Logger } from '@nestjs/common';
import type { IncompleteEntries } from '#libs/cloud-client';
import { PassedOverEntries } from './passed-over-entries.js';

const lacking = (count: number, why: string): IncompleteEntries => ({ count, why, ids: ['M-7'] });

describe('PassedOverEntries', () => {
  let logged: unknown[];

  beforeEach(() => {
    logged = [];
    for (const level of ['log', 'warn'] as const) {
      jest.spyOn(Logger.prototype, level).mockImplementation((line: unknown) => logged.push(line));
    }
  });

  afterEach(() => {
    jest.restoreAllMocks();
  });

  it('logs entries once in whatever order they come, and when there are more, or others, or none', () => {
    const entries = new PassedOverEntries('reasons');
    entries.note('M-1', undefined);
    entries.note('M-1', lacking(1, '[4].code is absent'));
    entries.note('M-1', lacking(1, '[7].code is absent'));
    entries.note('M-1', lacking(2, '[4].code is absent'));
    entries.note('M-1', lacking(2, '[4] is null'));
    entries.note('M-1', undefined);
    expect(logged).toMatchObject([
      { machineId: 'M-1', count: 1, why: '[4].code is absent' },
      { machineId: 'M-1', count: 2, why: '[4].code is absent' },
      { machineId: 'M-1', count: 2, why: '[4] is null' },
      { msg: 'entries are complete again', list: 'reasons', machineId: 'M-1' },
    ]);
  });

  it('counts those of all lists, or of the machines that matter', () => {
    const entries = new PassedOverEntries('reasons');
    entries.note('M-1', lacking(2, 'why'));
    entries.note('M-2', lacking(3, 'why'));
    expect(entries.count()).toBe(5);
    expect(entries.count(new Set(['M-2', 'M-3']))).toBe(3);
    entries.note('M-1', undefined);
    expect(entries.count()).toBe(3);
  });

  it('forgets the list it has heard of longest ago rather than remember any number', () => {
    const entries = new PassedOverEntries('reasons');
    for (let list = 0; list < 10_100; list += 1) entries.note(`M-${list}`, lacking(1, 'why'));
    expect(entries.count()).toBe(10_000);
    expect(entries.count(new Set(['M-0']))).toBe(0);
  });
});
