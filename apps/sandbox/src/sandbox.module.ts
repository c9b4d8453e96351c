import { type DynamicModule, Module } from '@nestjs/common';
import { Clock } from '#libs/clock';
import type { SandboxSettings } from '#libs/config';
import { ControlModule } from './control/control.module.js';
import { HealthController } from './health.controller.js';
import { Plant } from './plant/index.js';
import { AnswerOptions, LOGIN, ServiceModule, TokenRegistry } from './service/index.js';

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
