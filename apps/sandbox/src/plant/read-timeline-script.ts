import { plainToInstance, Type } from 'class-transformer';
import {
  ArrayMaxSize,
  IsArray,
  IsIn,
  IsInt,
  IsNotEmpty,
  IsObject,
  IsOptional,
  IsString,
  Max,
  MaxLength,
  Min,
  ValidateNested,
  validateSync,
} from 'class-validator';
import { isJsonObject, MACHINE_STATES, type MachineState } from '#libs/contracts';
import { validationProblems } from '../http/validation-problems.js';
import { COMMON_REASONS } from './machine-types.js';
import { ForcibleTimeline } from './forcible-timeline.js';
import type { PlantMachine } from './plant.js';
import { type ScriptedPeriod, ScriptedTimeline } from './scripted-timeline.js';
import { seededRandom } from './seeded-random.js';
// class-transformer reads the types of @Type fields through it
import 'reflect-metadata';
import { LATEST_EPOCH_SECONDS, LONGEST_IDENTIFIER } from './limits.js';

/** A state from `startTime` to `endTime` or, without one, to the start of the next period or without end. */
class ScriptPeriod {
  @IsInt() @Min(0) @Max(LATEST_EPOCH_SECONDS) startTime!: number;
  @IsOptional() @IsInt() @Min(0) @Max(LATEST_EPOCH_SECONDS) endTime?: number | null;
  @IsIn(MACHINE_STATES) state!: MachineState;
}

class ScriptReason {
  @IsString() @IsNotEmpty() name!: string;
  @IsString() @IsNotEmpty() code!: string;
}

class ScriptMachine {
  @IsString() @IsNotEmpty() @MaxLength(LONGEST_IDENTIFIER) machineId!: string;
  @IsOptional() @IsString() displayName?: string;
  @IsOptional() @IsString() @IsNotEmpty() factoryId?: string;
  @IsOptional() @IsString() @IsNotEmpty() factoryName?: string;
  /** Seconds after the end of a minute at which its state becomes visible; default from the id. */
  @IsOptional() @IsInt() @Min(0) @Max(59) updatePhaseSeconds?: number;

  @IsOptional()
  @IsArray()
  // without this check a list would pass as an object without fields
  @IsObject({ each: true })
  @ValidateNested({ each: true })
  @Type(() => ScriptReason)
  reasons?: ScriptReason[];

  @IsArray()
  @ArrayMaxSize(100_000)
  @IsObject({ each: true })
  @ValidateNested({ each: true })
  @Type(() => ScriptPeriod)
  periods!: ScriptPeriod[];
}

/**
 * A plant with its history, which replaces the simulation: `{machines: [{machineId, displayName?, factoryId?,
 * factoryName?, reasons?, periods: [{startTime, endTime?, state}]}]}`. Times in epoch seconds; between periods there is
 * no data.
 */
class TimelineScript {
  @IsArray()
  @ArrayMaxSize(100_000)
  @IsObject({ each: true })
  @ValidateNested({ each: true })
  @Type(() => ScriptMachine)
  machines!: ScriptMachine[];
}

const PROBLEMS_SHOWN = 10;

type ReadScript = { ok: true; machines: PlantMachine[] } | { ok: false; problems: string[] };

export function readTimelineScript(json: unknown): ReadScript {
  if (!isJsonObject(json)) {
    return { ok: false, problems: ['must be a JSON object with a list "machines"'] };
  }
  const script = plainToInstance(TimelineScript, json);
  const unknown = { whitelist: true, forbidNonWhitelisted: true };
  const problems = validationProblems(validateSync(script, unknown));
  if (problems.length === 0) problems.push(...contradictions(script));
  if (problems.length > 0) return { ok: false, problems: problems.slice(0, PROBLEMS_SHOWN) };
  return { ok: true, machines: script.machines.map(toMachine) };
}

function contradictions({ machines }: TimelineScript): string[] {
  const seen = new Set<string>();
  return machines.flatMap(({ machineId, periods }) => {
    const problems = seen.has(machineId) ? [`machine ${machineId} is listed twice`] : [];
    seen.add(machineId);
    periods.forEach((period, index) => {
      const { startTime, endTime } = closed(period, periods[index + 1]);
      const at = `machine ${machineId}, periods.${index}`;
      if (endTime <= startTime) problems.push(`${at}: must end after it starts`);
      if (endTime > (periods[index + 1]?.startTime ?? Infinity)) {
        problems.push(`${at}: overlaps the next one or is out of order`);
      }
    });
    return problems;
  });
}

function closed(period: ScriptPeriod, next: ScriptPeriod | undefined): ScriptedPeriod {
  const { startTime, state } = period;
  return { startTime, endTime: period.endTime ?? next?.startTime ?? Infinity, state };
}

function toMachine(machine: ScriptMachine): PlantMachine {
  const { machineId, displayName, factoryId, factoryName, reasons, periods } = machine;
  const scripted = periods.map((period, index) => closed(period, periods[index + 1]));
  return {
    machineId,
    machineDisplayName: { en: displayName ?? machineId },
    factoryId: factoryId ?? 'F-1',
    factoryName: factoryName ?? factoryId ?? 'Factory North',
    reasons: (reasons ?? COMMON_REASONS).map(({ name, code }) => ({ name, code })),
    updatePhaseSeconds:
      machine.updatePhaseSeconds ?? Math.floor(seededRandom(machineId, 'phase')() * 60),
    timeline: new ForcibleTimeline(new ScriptedTimeline(scripted)),
  };
}
