import { LISTS, REASONS } from '../load.mjs';

export const LOADS = [
  { of: 'reasons', flow: REASONS, machines: 1000, count: 100_000 },
  { of: 'lists, 30 a machine', flow: LISTS, machines: 10_000, count: 300_000 },
  { of: 'lists, one a machine', flow: LISTS, machines: 100_000, count: 100_000 },
];
export const RIVALS = ['with outcomes', 'without outcomes'];
export const BRIDGE = 'machine-bridge';
export const rivalName = (kind) => `Parallel Consumer ${kind}`;
export const PROGRAMS = [BRIDGE, ...RIVALS.map(rivalName)];
