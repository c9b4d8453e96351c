import { ApiProperty } from '@nestjs/swagger';
import { MACHINE_STATES, type MachineState } from '#libs/contracts';

const EPOCH_SECONDS = { type: 'integer', format: 'int64', example: 1_763_680_000 } as const;
const STATE = { enum: MACHINE_STATES, example: 'OPERATING' } as const;

/** Element of the getMachineInfo answer. */
export class MachineInfo {
  /** The interface leaves the inner structure open; here it is names by language. */
  @ApiProperty({
    type: 'object',
    additionalProperties: { type: 'string' },
    example: { en: 'Milling centre 1' },
  })
  machineDisplayName!: Record<string, string>;

  @ApiProperty({ example: 'M-001' }) machineUniqueId!: string;
  @ApiProperty({ example: 'F-1' }) factoryId!: string;
  @ApiProperty({ example: 'Factory North' }) factoryName!: string;
}

export class MachineStateAnswer {
  @ApiProperty(STATE) machineState!: MachineState;
  @ApiProperty({ type: 'integer', minimum: 0, example: 12 }) durationInMinutes!: number;
  /** The interface has this spelling. */
  @ApiProperty(EPOCH_SECONDS) astUpdateTime!: number;
}

/** Element of the MachineActivityLog answer. */
export class ActivityLogEntry {
  @ApiProperty(EPOCH_SECONDS) startTime!: number;
  @ApiProperty(EPOCH_SECONDS) endTime!: number;
  @ApiProperty(STATE) machineState!: MachineState;
  @ApiProperty({ type: 'integer', minimum: 0, example: 12 }) durationInMinutes!: number;
}

class ClassificationReasonAnswer {
  @ApiProperty({ example: 'Waiting for quality release' }) name!: string;
  @ApiProperty({ example: '22' }) code!: string;
}

/** Answer of MachineClassification. */
export class ClassificationReasonsAnswer {
  @ApiProperty({ type: ClassificationReasonAnswer, isArray: true })
  reasons!: readonly ClassificationReasonAnswer[];
}

export class LoginAnswer {
  @ApiProperty() token!: string;
}
