import { Controller, Get, Header } from '@nestjs/common';
import { Registry } from 'prom-client';
import { IngestMetrics } from './ingest-metrics.js';
import { OPENAPI } from './openapi.js';

@Controller()
export class StatusController {
  constructor(private readonly metrics: IngestMetrics) {}

  @Get('openapi.json')
  openApi(): typeof OPENAPI {
    return OPENAPI;
  }

  @Get('metrics')
  @Header('content-type', Registry.PROMETHEUS_CONTENT_TYPE)
  metricsText(): Promise<string> {
    return this.metrics.metricsText();
  }
}
