import {
  type DynamicModule,
  Global,
  Module,
  type OnApplicationShutdown,
  Optional,
  type Provider,
} from '@nestjs/common';
import { Histogram } from 'prom-client';
import { Clock } from '#libs/clock';
import { MachineCloudClient } from '#libs/cloud-client';
import type { BridgeSettings } from '#libs/config';
import { OrderMapping } from '#libs/erp-formats';
import { BoundedExpressions } from '#libs/expressions';
import { createKafka, DeadLetters, IdempotentProducer } from '#libs/kafka';
import { OutputFrames, SchemaRegistry } from '#libs/schema-registry';
import { NO_TRACING, type Tracing } from '#libs/tracing';
import { ServiceClockWatch } from './service-clock-watch.js';

/** Injects {@link BridgeSettings}. */
export const BRIDGE_SETTINGS = Symbol('BridgeSettings');
/** Injects {@link Tracing}. */
export const TRACING = Symbol('Tracing');

/** Injects the kafkajs client, for functions of `#libs/kafka`. */
export const KAFKA = Symbol('Kafka');

export class CallLatency extends Histogram<'operation' | 'status'> {
  constructor() {
    super({
      name: 'machine_bridge_cloud_call_duration_seconds',
      help: 'Duration of calls to the Machine Data Service by operation and status',
      labelNames: ['operation', 'status'],
      buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
      registers: [],
    });
  }
}

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
    const calls = new CallLatency();
    const providers = [
      { provide: BRIDGE_SETTINGS, useValue: settings },
      { provide: TRACING, useValue: tracing },
      { provide: KAFKA, useValue: kafka },
      { provide: Clock, useValue: clock },
      { provide: IdempotentProducer, useValue: new IdempotentProducer(kafka) },
      { provide: DeadLetters, useValue: new DeadLetters(clock, settings.kafka.topicPrefix) },
      {
        provide: OrderMapping,
        useValue: new OrderMapping(settings.erp.mapping, new BoundedExpressions()),
      },
      { provide: CallLatency, useValue: calls },
      { provide: MachineCloudClient, useValue: createCloudClient(settings, calls, clock, tracing) },
      ServiceClockWatch,
      ...(settings.schemaRegistry === undefined ? [] : schemaProviders(settings.schemaRegistry)),
    ];
    return { module: PlatformModule, providers, exports: providers };
  }

  /** Runs last: the consumer has drained, and its records have been sent. */
  async onApplicationShutdown(): Promise<void> {
    this.mapping.closeExpressions();
    await Promise.all([
      this.producer.closeProducer(),
      this.cloud.closeConnections(),
      this.registry?.closeRegistry(),
    ]);
  }
}

function schemaProviders(settings: NonNullable<BridgeSettings['schemaRegistry']>): Provider[] {
  const registry = new SchemaRegistry(settings);
  const frames = new OutputFrames(registry, settings.outputs);
  return [
    { provide: SchemaRegistry, useValue: registry },
    { provide: OutputFrames, useValue: frames },
  ];
}

function createCloudClient(
  settings: BridgeSettings,
  durations: CallLatency,
  clock: Clock,
  tracing: Tracing,
): MachineCloudClient {
  const { maxConcurrency, ...options } = settings.machineCloud;
  return new MachineCloudClient({
    ...options,
    // Commands, polls, look-ups of reasons and one of machines have connections each, so that none holds up another.
    maxConnections: 2 * maxConcurrency + reasonLookUpsAtOnce(maxConcurrency) + 1,
    clock,
    tracing,
    durations,
  });
}

/** Concurrent look-ups of reasons. With 16 at any setting, the first ones of 1,000 machines took over a second. */
export function reasonLookUpsAtOnce(maxConcurrency: number): number {
  return Math.max(16, Math.ceil(maxConcurrency / 2));
}
