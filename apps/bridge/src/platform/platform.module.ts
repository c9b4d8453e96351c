import {
  type DynamicModule,
  Global,
  Module,
  type OnApplicationShutdown,
  Optional,
} from '@nestjs/common';
import { Clock } from '#libs/clock';
import { MachineCloudClient } from '#libs/cloud-client';
import type { BridgeSettings } from '#libs/config';
import { OrderMapping } from '#libs/erp-formats';
import { BoundedExpressions } from '#libs/expressions';
import { createKafka, DeadLetters, IdempotentProducer } from '#libs/kafka';
import { OutputFrames, SchemaRegistry } from '#libs/schema-registry';
import { NO_TRACING, type Tracing } from '#libs/tracing';
import { callsAtOnce } from './calls-at-once.js';
import { CloudCalls } from './cloud-calls.js';
import { ServiceClockWatch } from './service-clock-watch.js';
import { BRIDGE_SETTINGS, KAFKA, TRACING } from './tokens.js';

/** What every flow stands on: settings, the clock, the client of the service, the ways out to Kafka. */
@Global()
@Module({})
export class PlatformModule implements OnApplicationShutdown {
  constructor(
    private readonly mapping: OrderMapping,
    private readonly producer: IdempotentProducer,
    private readonly cloud: MachineCloudClient,
    @Optional() private readonly registry?: SchemaRegistry,
  ) {}

  static with(settings: BridgeSettings, tracing = NO_TRACING): DynamicModule {
    const kafka = createKafka(settings.kafka);
    const clock = new Clock(settings.clock);
    const calls = new CloudCalls();
    const { schemaRegistry } = settings;
    const registry = schemaRegistry && new SchemaRegistry(schemaRegistry);
    const providers = [
      { provide: BRIDGE_SETTINGS, useValue: settings },
      { provide: TRACING, useValue: tracing },
      { provide: KAFKA, useValue: kafka },
      { provide: Clock, useValue: clock },
      { provide: IdempotentProducer, useValue: new IdempotentProducer(kafka) },
      {
        provide: DeadLetters,
        useValue: new DeadLetters(clock, settings.kafka.topicPrefix),
      },
      {
        provide: OrderMapping,
        useValue: new OrderMapping(settings.erp.mapping, new BoundedExpressions()),
      },
      { provide: CloudCalls, useValue: calls },
      { provide: MachineCloudClient, useValue: createCloudClient(settings, calls, clock, tracing) },
      ServiceClockWatch,
      { provide: OutputFrames, useValue: new OutputFrames(registry, schemaRegistry?.outputs) },
      ...(registry === undefined ? [] : [{ provide: SchemaRegistry, useValue: registry }]),
    ];
    return { module: PlatformModule, providers, exports: providers };
  }

  /** Last of all: the consumer has drained by now, and what it answered has been sent. */
  async onApplicationShutdown(): Promise<void> {
    this.mapping.close();
    await Promise.all([this.producer.close(), this.cloud.close(), this.registry?.close()]);
  }
}

function createCloudClient(
  settings: BridgeSettings,
  calls: CloudCalls,
  clock: Clock,
  tracing: Tracing,
): MachineCloudClient {
  const { maxConcurrency, ...options } = settings.machineCloud;
  return new MachineCloudClient({
    ...options,
    maxConnections: callsAtOnce(maxConcurrency),
    clock,
    tracing,
    onCall: calls.observe,
  });
}
