import { Body, Query, UnprocessableEntityException } from '@nestjs/common';
import { ApiOkResponse, ApiProperty } from '@nestjs/swagger';
import { Transform } from 'class-transformer';
import { IsInt, IsNotEmpty, IsOptional, IsString, Max, Min } from 'class-validator';
import { Clock } from '#libs/clock';
import type { PlantMachine } from '../plant/plant.js';
import { LATEST_EPOCH_SECONDS } from '../plant/limits.js';
import { ClassificationReasonsAnswer } from './answers.js';
import { Classifications } from './classifications.js';
import { MachineLookup } from './machine-lookup.js';
import { EpochSeconds, Identifier, MachineQuery } from './request-fields.js';
import { ServiceController } from './service-controller.decorator.js';
import { ServiceOperation } from './service-operation.decorator.js';

/** Request of setMachineClassification ("Classification setting"). */
class ClassificationRequest {
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

const REASON_LIST = {
  summary: 'The classification reasons available for a machine.',
  causes: {
    204: 'The result list is empty.',
    404: 'Machine ID not found.',
    422: 'Machine ID missing.',
  },
};

@ServiceController('classifications')
export class ClassificationsController {
  constructor(
    private readonly machines: MachineLookup,
    private readonly classifications: Classifications,
    private readonly clock: Clock,
  ) {}

  @ServiceOperation('getClassificationReasons', 'GET', REASON_LIST)
  @ApiOkResponse({ type: ClassificationReasonsAnswer })
  getReasons(@Query() { machineId }: MachineQuery): ClassificationReasonsAnswer | null {
    const { reasons } = this.machines.getOr404(machineId);
    return reasons.length === 0 ? null : { reasons };
  }

  /** The interface's method is GET, but its sample request uses POST: both are served. */
  @ServiceOperation('getClassificationReasons', 'POST', REASON_LIST)
  @ApiOkResponse({ type: ClassificationReasonsAnswer })
  postReasons(@Query() query: MachineQuery): ClassificationReasonsAnswer | null {
    return this.getReasons(query);
  }

  @ServiceOperation('setMachineClassification', 'POST', {
    summary: 'Attaches a reason to a machine for a period, or from a start time onward.',
    causes: {
      422: 'Machine or reason ID missing or does not exist; start time later than end time; start time in the future; message without start and end times.',
    },
  })
  @ApiOkResponse({ description: 'Accepted; no body.' })
  setMachineClassification(@Body() request: ClassificationRequest): void {
    const machine = this.machines.getOr422(request.machineId);
    const reasonId = request.reasonId ?? request.reason;
    if (reasonId === undefined) throw new UnprocessableEntityException('reasonId is missing');
    const call = { startTime: request.startTime, endTime: request.endTime ?? null, reasonId };
    const now = this.clock.nowSeconds();
    const refusal = refuseClassification(call, machine, now);
    if (refusal !== null) throw new UnprocessableEntityException(refusal);
    this.classifications.acceptClassification(machine.machineId, call, now);
  }
}

/** Why a classification is refused (interface, "setMachineClassification": 422), or null. */
function refuseClassification(
  request: { startTime: number; endTime: number | null; reasonId: string },
  machine: PlantMachine,
  now: number,
): string | null {
  if (!machine.reasons.some(({ code }) => code === request.reasonId)) {
    return `reason ID ${request.reasonId} does not exist for machine ${machine.machineId}`;
  }
  if (request.endTime !== null && request.startTime > request.endTime) {
    return 'startTime is later than endTime';
  }
  return request.startTime > now ? 'startTime is in the future' : null;
}
