import { Controller, Get, Optional, UseGuards } from '@nestjs/common';
import { type UnmappedWorkCentre, UnmappedWorkCentres } from '../work-orders/index.js';
import { ApiTokenGuard } from './api-token.guard.js';

@Controller('api/equipment')
@UseGuards(ApiTokenGuard)
export class EquipmentController {
  constructor(@Optional() private readonly unmapped?: UnmappedWorkCentres) {}

  /** Work centres whose operations were dead-lettered as `unmapped-work-centre`. */
  @Get('unmapped')
  listUnmapped(): UnmappedWorkCentre[] {
    return this.unmapped?.listUnmapped() ?? [];
  }
}
