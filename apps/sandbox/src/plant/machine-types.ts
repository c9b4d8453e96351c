import type { ClassificationReason } from './plant.js';

interface MachineType {
  name: string;
  /** A reason of this type only. */
  reason: ClassificationReason;
}

/** The reasons of every simulated machine. */
export const COMMON_REASONS: readonly ClassificationReason[] = [
  { code: '11', name: 'Planned maintenance' },
  { code: '12', name: 'Cleaning' },
  { code: '13', name: 'Set-up' },
  { code: '14', name: 'Tool change' },
  { code: '15', name: 'First-off inspection' },
  { code: '16', name: 'No material' },
  { code: '17', name: 'No operator' },
  { code: '18', name: 'No order' },
  { code: '19', name: 'Break' },
  { code: '20', name: 'Mechanical fault' },
  { code: '21', name: 'Electrical fault' },
  { code: '22', name: 'Waiting for quality release' },
];

export const MACHINE_TYPES: readonly [MachineType, ...MachineType[]] = [
  { name: 'Milling centre', reason: { code: '31', name: 'Milling cutter broken' } },
  { name: 'Lathe', reason: { code: '32', name: 'Chip jam' } },
  { name: 'Grinder', reason: { code: '33', name: 'Wheel dressing' } },
  { name: 'Press brake', reason: { code: '34', name: 'Die change' } },
];
