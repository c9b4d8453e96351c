import { type DynamicModule, Module } from '@nestjs/common';
import { TerminusModule } from '@nestjs/terminus';
import type { IngestSettings } from '#libs/config';
import { HealthConditions, HealthController } from '#libs/http-api';
import { createKafka } from '#libs/kafka';
import { SenderAccess } from './access/sender-access.js';
import { Callbacks } from './callbacks/callbacks.js';
import { BridgeReader } from './document/bridge-reader.js';
import { IntakeController } from './http/intake.controller.js';
import { MetricsController } from './http/metrics.controller.js';
import { RequestWriter } from './kafka/request-writer.js';
import { INGEST_SETTINGS, KAFKA } from './platform/tokens.js';

@Module({})
export class IngestModule {
  static with(settings: IngestSettings): DynamicModule {
    return {
      module: IngestModule,
      imports: [TerminusModule.forRoot({ logger: false })],
      controllers: [IntakeController, HealthController, MetricsController],
      providers: [
        { provide: INGEST_SETTINGS, useValue: settings },
        { provide: KAFKA, useValue: createKafka(settings.kafka) },
        ...[SenderAccess, BridgeReader, RequestWriter, Callbacks],
        { provide: HealthConditions, inject: [RequestWriter, Callbacks], useFactory: healthOf },
      ],
    };
  }
}

/** Callbacks that fail do not affect requests. */
function healthOf(writer: RequestWriter, callbacks: Callbacks): HealthConditions {
  return {
    conditions: () => [
      { name: 'kafka', problem: writer.intakeProblem },
      {
        ...{ name: 'callbacks', problem: undefined },
        remark: callbacks.deliveryProblems.join('; ') || undefined,
      },
    ],
  };
}
