import { ApiProperty } from '@nestjs/swagger';
import { Transform } from 'class-transformer';
import { IsInt, IsNotEmpty, IsOptional, IsString, Max, Min } from 'class-validator';
import { LATEST_EPOCH_SECONDS } from '../../plant/index.js';
import { EpochSeconds, Identifier } from './fields.js';

/** Request of setMachineClassification ("Classification setting"). */
export class ClassificationRequest {
  @Identifier({ example: 'M-001' })
  machineId!: string;

  @EpochSeconds('Beginning of the classified period; not in the future.')
  startTime!: number;

  /** Absent, null and the empty string all mean open-ended: the field "may be empty". */
  @ApiProperty({
    required: false,
    nullable: true,
    oneOf: [
      { type: 'integer', format: 'int64', minimum: 0, maximum: LATEST_EPOCH_SECONDS },
      { type: 'string', maxLength: 0 },
    ],
    description: 'End of the classified period; empty: open-ended.',
  })
  @Transform(({ value }: { value: unknown }) => (value === '' ? null : value))
  @IsOptional()
  @Min(0)
  @Max(LATEST_EPOCH_SECONDS)
  @IsInt()
  endTime?: number | null;

  @ApiProperty({ required: false, minLength: 1, example: '22', description: 'Code of the reason.' })
  @IsOptional()
  @IsNotEmpty()
  @IsString()
  reasonId?: string;

  @ApiProperty({
    required: false,
    minLength: 1,
    description: 'Another spelling of reasonId, which wins when both are given.',
  })
  @IsOptional()
  @IsNotEmpty()
  @IsString()
  reason?: string;
}
