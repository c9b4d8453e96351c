import { Controller, Get, Header } from '@nestjs/common';
import {
  HealthCheck,
  type HealthCheckResult,
  HealthCheckService,
  HealthIndicatorService,
} from '@nestjs/terminus';
import { Registry } from 'prom-client';
import { Submissions } from '../kafka/submissions.js';
import { IngestMetrics } from './ingest-metrics.js';
import { OPENAPI } from './openapi.js';

/** `live`: the process answers. `ready`: requests are taken; else 503 says why not. */
@Controller()
export class StatusController {
  constructor(
    private readonly health: HealthCheckService,
    private readonly indicators: HealthIndicatorService,
    private readonly submissions: Submissions,
    private readonly metrics: IngestMetrics,
  ) {}

  @Get('health/live')
  @HealthCheck()
  live(): Promise<HealthCheckResult> {
    return this.health.check([]);
  }

  @Get('health/ready')
  @HealthCheck()
  ready(): Promise<HealthCheckResult> {
    const { problem } = this.submissions;
    const indicator = this.indicators.check('kafka');
    return this.health.check([
      () => (problem === undefined ? indicator.up() : indicator.down({ ...problem })),
    ]);
  }

  @Get('openapi.json')
  openApi(): typeof OPENAPI {
    return OPENAPI;
  }

  @Get('metrics')
  @Header('content-type', Registry.PROMETHEUS_CONTENT_TYPE)
  text(): Promise<string> {
    return this.metrics.text();
  }
}
