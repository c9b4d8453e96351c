import { Controller, type DynamicModule, Get, Module } from '@nestjs/common';
import { Clock } from '#libs/clock';
import type { SandboxSettings } from '#libs/config';
import { ControlModule } from './control/control.module.js';
import { Plant } from './plant/plant.js';
import { AnswerOptions } from './service/answer-options.js';
import { LOGIN } from './service/login.controller.js';
import { ServiceModule } from './service/service.module.js';
import { TokenRegistry } from './service/token-registry.js';

@Controller('health')
class HealthController {
  @Get('live')
  live(): { status: 'ok' } {
    return { status: 'ok' };
  }
}

/** What the whole sandbox stands on. */
export interface SandboxWorld {
  /** The service's. */
  clock: Clock;
  options: AnswerOptions;
  plant: Plant;
  tokens: TokenRegistry;
  login: SandboxSettings['login'];
}

@Module({})
export class SandboxModule {
  static of(world: SandboxWorld): DynamicModule {
    const providers = [
      { provide: Clock, useValue: world.clock },
      { provide: AnswerOptions, useValue: world.options },
      { provide: Plant, useValue: world.plant },
      { provide: TokenRegistry, useValue: world.tokens },
      { provide: LOGIN, useValue: world.login },
    ];
    return {
      module: SandboxModule,
      global: true,
      imports: [ServiceModule, ControlModule],
      controllers: [HealthController],
      providers,
      exports: providers,
    };
  }
}
