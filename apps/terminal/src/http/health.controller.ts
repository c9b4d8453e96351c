import { Controller, Get } from '@nestjs/common';
import {
  HealthCheck,
  type HealthCheckResult,
  HealthCheckService,
  HealthIndicatorService,
} from '@nestjs/terminus';
import { PlantFeed } from '../kafka/plant-feed.js';

/** `live`: the process answers. `ready`: it has read its topics, and Kafka is there; else 503 says why not. */
@Controller('health')
export class HealthController {
  constructor(
    private readonly health: HealthCheckService,
    private readonly indicators: HealthIndicatorService,
    private readonly feed: PlantFeed,
  ) {}

  @Get('live')
  @HealthCheck()
  live(): Promise<HealthCheckResult> {
    return this.health.check([]);
  }

  @Get('ready')
  @HealthCheck()
  ready(): Promise<HealthCheckResult> {
    const { state, problem } = this.feed.link;
    const indicator = this.indicators.check('kafka');
    const message = problem ?? 'what the topics hold is being read';
    return this.health.check([
      () => (state === 'up' ? indicator.up() : indicator.down({ message })),
    ]);
  }
}
