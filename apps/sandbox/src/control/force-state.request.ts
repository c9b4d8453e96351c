import { IsIn, IsInt, IsOptional, Max, Min, ValidateIf } from 'class-validator';
import { LATEST_EPOCH_SECONDS } from '../plant/limits.js';
import { MACHINE_STATES, type MachineState } from '../plant/timeline.js';

/** The word for "no data", as null releases the machine. */
export const NO_DATA = 'NO_DATA';

/**
 * A state that is to hold from a time on until it is released, or until `to`. A `from` in the past
 * rewrites what the activity log already showed.
 */
export class ForceStateRequest {
  /** null: release, the machine returns to its own life. */
  @ValidateIf(({ state }: ForceStateRequest) => state !== null)
  @IsIn([...MACHINE_STATES, NO_DATA])
  state!: MachineState | typeof NO_DATA | null;

  /** Epoch seconds; default now. */
  @IsOptional() @IsInt() @Min(0) @Max(LATEST_EPOCH_SECONDS) from?: number | null;
  /** Epoch seconds; default for good. What is forced beyond it stays. */
  @IsOptional() @IsInt() @Min(0) @Max(LATEST_EPOCH_SECONDS) to?: number | null;
}
