import { EpochSeconds, Identifier } from './fields.js';

/** Request of MachineActivityLog. */
export class ActivityRequest {
  @Identifier({ example: 'M-001' })
  machineId!: string;

  @EpochSeconds('Beginning of the window.')
  startTime!: number;

  @EpochSeconds('End of the window, at most 30 days after its beginning.', 1_763_683_600)
  endTime!: number;
}
