import { IsIn, IsInt, IsOptional, Max, Min, ValidateIf } from 'class-validator';
import { LATEST_EPOCH_SECONDS } from '../plant/limits.js';
import { MACHINE_STATES, type MachineState } from '../plant/timeline.js';

/** Means "no data", because null releases the machine. */
export const NO_DATA = 'NO_DATA';

/**
 * A forced state from a time on, until it is released or until `to`. A `from` in the past changes periods that the
 * activity log has shown.
 */
export class ForceStateRequest {
  /** null: releases the machine to its own timeline. */
  @ValidateIf(({ state }: ForceStateRequest) => state !== null)
  @IsIn([...MACHINE_STATES, NO_DATA])
  state!: MachineState | typeof NO_DATA | null;

  /** Epoch seconds; default now. */
  @IsOptional() @IsInt() @Min(0) @Max(LATEST_EPOCH_SECONDS) from?: number | null;
  /** Epoch seconds; default: without end. States forced after it remain. */
  @IsOptional() @IsInt() @Min(0) @Max(LATEST_EPOCH_SECONDS) to?: number | null;
}
