import { Controller, Get, Header, UseGuards } from '@nestjs/common';
import { Registry } from 'prom-client';
import { ApiTokenGuard } from './api-token.guard.js';
import { MetricsRegistry } from './metrics-registry.js';

@Controller('metrics')
@UseGuards(ApiTokenGuard)
export class MetricsController {
  constructor(private readonly registry: MetricsRegistry) {}

  @Get()
  @Header('content-type', Registry.PROMETHEUS_CONTENT_TYPE)
  metrics(): Promise<string> {
    return this.registry.text();
  }
}
