import { applyDecorators } from '@nestjs/common';
import { ApiProperty } from '@nestjs/swagger';
import { IsInt, IsNotEmpty, IsString, Max, MaxLength, Min } from 'class-validator';
import { LATEST_EPOCH_SECONDS, LONGEST_IDENTIFIER } from '../plant/limits.js';

/** A machine ID, reason ID or work order: a string of 1 to 256 characters. */
export function Identifier(options: { example: string; each?: boolean }): PropertyDecorator {
  const each = options.each ?? false;
  const checks = { each };
  const schema = { type: String, minLength: 1, maxLength: LONGEST_IDENTIFIER };
  return applyDecorators(
    each
      ? ApiProperty({ ...schema, isArray: true, example: [options.example] })
      : ApiProperty({ ...schema, example: options.example }),
    IsString(checks), // first, because only the first fault of a field is reported
    IsNotEmpty(checks),
    MaxLength(LONGEST_IDENTIFIER, checks),
  );
}

/** An epoch timestamp in whole seconds. */
export function EpochSeconds(description: string, example = 1_763_680_000): PropertyDecorator {
  return applyDecorators(
    ApiProperty({
      type: 'integer',
      format: 'int64',
      minimum: 0,
      maximum: LATEST_EPOCH_SECONDS,
      example,
      description,
    }),
    IsInt(),
    Min(0),
    Max(LATEST_EPOCH_SECONDS),
  );
}

export class MachineQuery {
  @Identifier({ example: 'M-001' })
  machineId!: string;
}
