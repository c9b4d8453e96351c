import { Controller, Get, Header } from '@nestjs/common';
import {
  HealthCheck,
  type HealthCheckResult,
  HealthCheckService,
  HealthIndicatorService,
} from '@nestjs/terminus';
import { Registry } from 'prom-client';
import { Callbacks } from '../callbacks/callbacks.js';
import { RequestWriter } from '../kafka/request-writer.js';
import { IngestMetrics } from './ingest-metrics.js';
import { OPENAPI } from './openapi.js';

/**
 * `live`: the process answers. `ready`: requests are accepted; otherwise 503 with the cause. It names callbacks that
 * fail, which do not affect requests.
 */
@Controller()
export class StatusController {
  constructor(
    private readonly health: HealthCheckService,
    private readonly indicators: HealthIndicatorService,
    private readonly writer: RequestWriter,
    private readonly callbacks: Callbacks,
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
    const { intakeProblem } = this.writer;
    const kafka = this.indicators.check('kafka');
    const callbacks = this.indicators.check('callbacks');
    const message = this.callbacks.deliveryProblems.join('; ');
    return this.health.check([
      () => (intakeProblem === undefined ? kafka.up() : kafka.down({ ...intakeProblem })),
      () => (message === '' ? callbacks.up() : callbacks.up({ message })),
    ]);
  }

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
