import { type DynamicModule, Module } from '@nestjs/common';
import { TerminusModule } from '@nestjs/terminus';
import { Clock, ShiftCalendar } from '#libs/clock';
import type { TerminalSettings } from '#libs/config';
import { HealthConditions, HealthController } from '#libs/http-api';
import { createKafka } from '#libs/kafka';
import { AccessGuard, OwnPageGuard } from './access/access.guard.js';
import { SessionController } from './access/session.controller.js';
import { StationAccess } from './access/station-access.js';
import { WrongTokens } from './access/wrong-tokens.js';
import { MachinesController } from './http/machines.controller.js';
import { ReasonsController } from './http/reasons.controller.js';
import { MetricsController } from './http/metrics.controller.js';
import { FollowUps } from './kafka/follow-ups.js';
import { PlantFeed } from './kafka/plant-feed.js';
import { EntryWriter } from './kafka/entry-writer.js';
import { LiveUpdates } from './live/live-updates.js';
import { LiveController } from './live/live.controller.js';
import { Plant } from './plant/index.js';
import { KAFKA, TERMINAL_SETTINGS } from './platform/tokens.js';

@Module({})
export class TerminalModule {
  static with(settings: TerminalSettings): DynamicModule {
    const clock = new Clock(settings.clock);
    return {
      module: TerminalModule,
      imports: [TerminusModule.forRoot({ logger: false })],
      controllers: [
        SessionController,
        LiveController,
        MachinesController,
        ReasonsController,
        HealthController,
        MetricsController,
      ],
      providers: [
        { provide: TERMINAL_SETTINGS, useValue: settings },
        { provide: KAFKA, useValue: createKafka(settings.kafka) },
        { provide: Clock, useValue: clock },
        { provide: Plant, useValue: createPlant(settings, clock) },
        { provide: HealthConditions, useExisting: PlantFeed },
        ...[PlantFeed, EntryWriter, FollowUps, LiveUpdates],
        ...[StationAccess, WrongTokens, AccessGuard, OwnPageGuard],
      ],
    };
  }
}

function createPlant(settings: TerminalSettings, clock: Clock): Plant {
  return new Plant({
    topicPrefix: settings.kafka.topicPrefix,
    calendar: new ShiftCalendar(settings.shifts),
    stopThresholdSeconds: settings.stopThresholdSeconds,
    // producers set time stamps freely: a record that was read cannot have been written later than now
    plantSeconds: (timestampMs) =>
      Math.min(clock.nowSeconds(), Math.max(0, Math.floor(clock.atMs(timestampMs) / 1000))),
  });
}
