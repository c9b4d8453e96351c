import { Controller, Get } from '@nestjs/common';
import {
  HealthCheck,
  type HealthCheckResult,
  HealthCheckService,
  HealthIndicatorService,
} from '@nestjs/terminus';
import { Readiness } from './readiness.js';

/** Terminus would load @nestjs/swagger, 550 modules that the bridge has no use for: a fifth of what it loads. */
const UNDOCUMENTED = { noCache: true, swaggerDocumentation: false };

/** `live`: the process answers. `ready`: Kafka is there and every flow moves; else 503 says why not. */
@Controller('health')
export class HealthController {
  constructor(
    private readonly health: HealthCheckService,
    private readonly indicators: HealthIndicatorService,
    private readonly readiness: Readiness,
  ) {}

  @Get('live')
  @HealthCheck(UNDOCUMENTED)
  live(): Promise<HealthCheckResult> {
    return this.health.check([]);
  }

  @Get('ready')
  @HealthCheck(UNDOCUMENTED)
  ready(): Promise<HealthCheckResult> {
    const checks = this.readiness.conditions().map(({ name, problem, remark }) => () => {
      const indicator = this.indicators.check(name);
      if (problem !== undefined) return indicator.down({ message: problem });
      return remark === undefined ? indicator.up() : indicator.up({ message: remark });
    });
    return this.health.check(checks);
  }
}
