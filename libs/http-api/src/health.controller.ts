import { Controller, Get } from '@nestjs/common';
import {
  HealthCheck,
  type HealthCheckResult,
  HealthCheckService,
  HealthIndicatorService,
} from '@nestjs/terminus';

export interface HealthCondition {
  name: string;
  /** Why it does not hold, as text or as fields of the answer. */
  problem: string | { code: string; message: string } | undefined;
  /** Note for operators although there is no problem. */
  remark?: string | undefined;
}

/** Provided by each program. */
export abstract class HealthConditions {
  abstract conditions(): HealthCondition[];
}

/** Keeps Terminus from loading @nestjs/swagger: 550 modules that no program here uses. */
const UNDOCUMENTED = { noCache: true, swaggerDocumentation: false };

/** `live`: the process answers. `ready`: all conditions hold; otherwise 503 with the causes. */
@Controller('health')
export class HealthController {
  constructor(
    private readonly health: HealthCheckService,
    private readonly indicators: HealthIndicatorService,
    private readonly program: HealthConditions,
  ) {}

  @Get('live')
  @HealthCheck(UNDOCUMENTED)
  checkLiveness(): Promise<HealthCheckResult> {
    return this.health.check([]);
  }

  @Get('ready')
  @HealthCheck(UNDOCUMENTED)
  checkReadiness(): Promise<HealthCheckResult> {
    const checks = this.program.conditions().map(({ name, problem, remark }) => () => {
      const indicator = this.indicators.check(name);
      if (typeof problem === 'string') return indicator.down({ message: problem });
      if (problem !== undefined) return indicator.down(problem);
      return remark === undefined ? indicator.up() : indicator.up({ message: remark });
    });
    return this.health.check(checks);
  }
}
