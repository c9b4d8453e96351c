import {
  applyDecorators,
  Body,
  Get,
  HttpCode,
  Post,
  Query,
  UnprocessableEntityException,
} from '@nestjs/common';
import { ApiOkResponse } from '@nestjs/swagger';
import { Clock } from '#libs/clock';
import { ClassificationReasonsAnswer } from './answers.js';
import { Classifications } from './classifications.js';
import { MachineLookup } from './machine-lookup.js';
import { PATHS_OF } from './operations.js';
import { refuseClassification } from './refuse-classification.js';
import { ClassificationRequest } from './requests/classification.request.js';
import { MachineQuery } from './requests/machine.query.js';
import { ServiceController } from './service-controller.decorator.js';
import { BODY_STATUSES, ServiceOperation } from './service-operation.decorator.js';

/** GET is the interface's method; its sample request uses POST: both are served alike. */
function ReasonList(statuses: readonly number[]): MethodDecorator {
  return applyDecorators(
    HttpCode(200),
    ServiceOperation('getClassificationReasons', {
      summary: 'The classification reasons available for a machine.',
      statuses,
      causes: {
        204: 'The result list is empty.',
        404: 'Machine ID not found.',
        422: 'Machine ID missing.',
      },
    }),
    ApiOkResponse({ type: ClassificationReasonsAnswer }),
  );
}

@ServiceController('classifications')
export class ClassificationsController {
  constructor(
    private readonly machines: MachineLookup,
    private readonly classifications: Classifications,
    private readonly clock: Clock,
  ) {}

  @Get(PATHS_OF.getClassificationReasons)
  @ReasonList([])
  getReasons(@Query() { machineId }: MachineQuery): ClassificationReasonsAnswer | null {
    const { reasons } = this.machines.getOr404(machineId);
    return reasons.length === 0 ? null : { reasons };
  }

  @Post(PATHS_OF.getClassificationReasons)
  @ReasonList(BODY_STATUSES)
  postReasons(@Query() query: MachineQuery): ClassificationReasonsAnswer | null {
    return this.getReasons(query);
  }

  @Post(PATHS_OF.setMachineClassification)
  @HttpCode(200)
  @ServiceOperation('setMachineClassification', {
    summary: 'Attaches a reason to a machine for a period, or from a start time onward.',
    statuses: BODY_STATUSES,
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
    this.classifications.receive(machine.machineId, call, now);
  }
}
