// class-transformer reads the types that @Type is put on through it
import 'reflect-metadata';
import { Type } from 'class-transformer';
import {
  ArrayMaxSize,
  IsArray,
  IsIn,
  IsInt,
  IsNotEmpty,
  IsOptional,
  IsString,
  Max,
  MaxLength,
  Min,
  ValidateNested,
} from 'class-validator';
import { LATEST_EPOCH_SECONDS } from './epoch-seconds.js';
import { LONGEST_IDENTIFIER } from './identifier.js';
import { MACHINE_STATES, type MachineState } from './machine-state.js';

/** A state from `startTime` to `endTime` or, without one, to the next period's start or for good. */
export class ScriptPeriod {
  @IsInt() @Min(0) @Max(LATEST_EPOCH_SECONDS) startTime!: number;
  @IsOptional() @IsInt() @Min(0) @Max(LATEST_EPOCH_SECONDS) endTime?: number | null;
  @IsIn(MACHINE_STATES) state!: MachineState;
}

export class ScriptReason {
  @IsString() @IsNotEmpty() name!: string;
  @IsString() @IsNotEmpty() code!: string;
}

export class ScriptMachine {
  @IsString() @IsNotEmpty() @MaxLength(LONGEST_IDENTIFIER) machineId!: string;
  @IsOptional() @IsString() displayName?: string;
  @IsOptional() @IsString() @IsNotEmpty() factoryId?: string;
  @IsOptional() @IsString() @IsNotEmpty() factoryName?: string;
  /** Seconds after the end of a minute at which its state becomes visible; default from the id. */
  @IsOptional() @IsInt() @Min(0) @Max(59) updatePhaseSeconds?: number;

  @IsOptional()
  @IsArray()
  @ValidateNested({ each: true })
  @Type(() => ScriptReason)
  reasons?: ScriptReason[];

  @IsArray()
  @ArrayMaxSize(100_000)
  @ValidateNested({ each: true })
  @Type(() => ScriptPeriod)
  periods!: ScriptPeriod[];
}

/**
 * A plant with its history, in place of the simulation: `{machines: [{machineId, displayName?,
 * factoryId?, factoryName?, reasons?, periods: [{startTime, endTime?, state}]}]}`. Times in epoch
 * seconds; what no period covers is "no data".
 */
export class TimelineScript {
  @IsArray()
  @ArrayMaxSize(100_000)
  @ValidateNested({ each: true })
  @Type(() => ScriptMachine)
  machines!: ScriptMachine[];
}
