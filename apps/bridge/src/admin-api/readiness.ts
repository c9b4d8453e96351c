import { Injectable, Optional } from '@nestjs/common';
import type { Flow } from '#libs/contracts';
import type { HealthCondition, HealthConditions } from '#libs/http-api';
import { IdempotentProducer, KafkaConsumerStrategy } from '#libs/kafka';
import { SchemaRegistry } from '#libs/schema-registry';
import { DowntimeReasons } from '../downtime-reasons/index.js';
import { FlowControls } from '../flow-control/index.js';
import { MachineStates } from '../machine-states/index.js';
import { OrderRequests, WorkOrderLists } from '../work-orders/index.js';

/** `ready`: Kafka is available and every flow proceeds. */
@Injectable()
export class Readiness implements HealthConditions {
  constructor(
    private readonly strategy: KafkaConsumerStrategy,
    private readonly producer: IdempotentProducer,
    private readonly controls: FlowControls,
    @Optional() private readonly lists?: WorkOrderLists,
    @Optional() private readonly reasons?: DowntimeReasons,
    @Optional() private readonly states?: MachineStates,
    @Optional() private readonly registry?: SchemaRegistry,
    @Optional() private readonly requests?: OrderRequests,
  ) {}

  conditions(): HealthCondition[] {
    const conditions: HealthCondition[] = [
      { name: 'kafka', problem: this.kafkaProblem() },
      { name: 'outcomes', problem: this.outcomesProblem() },
    ];
    if (this.registry !== undefined) {
      conditions.push({ name: 'schema-registry', problem: this.registry.waitReason });
    }
    const flows = [
      ['work-orders', this.lists?.flow],
      ['downtime-reasons', this.reasons?.flow],
      ['machine-states', this.states],
    ] as const;
    for (const [name, flow] of flows) {
      if (flow !== undefined) conditions.push(this.flowCondition(name, flow.pausedBecause));
    }
    const enrichment = this.enrichmentCondition();
    if (enrichment !== undefined) conditions.push(enrichment);
    return conditions;
  }

  private enrichmentCondition(): HealthCondition | undefined {
    const rules = this.requests?.statuses() ?? [];
    if (rules.length === 0) return undefined;
    const paused = rules.flatMap(({ pausedBecause }) => pausedBecause ?? []);
    const problem = paused.length === 0 ? undefined : `paused: ${paused.join('; ')}`;
    const isHeld = this.controls.pauseOf('work-orders') !== undefined;
    return { name: 'enrichment', problem: isHeld ? undefined : problem };
  }

  /** A flow that is paused by hand has no problem, whatever the service has answered before. */
  private flowCondition(name: Flow, why: string | undefined): HealthCondition {
    const pause = this.controls.pauseOf(name);
    if (pause === undefined) return { name, problem: why && `paused: ${why}` };
    return { name, problem: undefined, remark: `paused by hand: ${pause.reason} (${pause.by})` };
  }

  private outcomesProblem(): string | undefined {
    const topics = this.strategy.consumer.health
      .writtenTopics()
      .flatMap(({ topic, problem }) => (problem ? [`${topic}: ${problem}`] : []));
    const { writeProblem } = this.producer;
    const problems = [
      topics.length > 0 && `outcomes and dead letters are not taken: ${topics.join('; ')}`,
      writeProblem !== undefined && `machines' reasons are not taken: ${writeProblem}`,
    ];
    return problems.filter(Boolean).join('; ') || undefined;
  }

  private kafkaProblem(): string | undefined {
    const { consumer } = this.strategy;
    switch (consumer.state) {
      case 'running':
        return [this.stateProblem(), this.controls.problem].filter(Boolean).join('; ') || undefined;
      case 'starting':
        return consumer.startProblem ?? 'not yet a member of the consumer group';
      case 'broken':
        return consumer.outage;
      case 'stopped':
        return 'the bridge is stopping';
      default:
        return consumer.state satisfies never;
    }
  }

  private stateProblem(): string | undefined {
    const { consumer } = this.strategy;
    const { readProblem, stateProblem, inputs } = consumer;
    const { waitingPartitions: waiting, commitProblem } = inputs;
    if (readProblem !== undefined) return `messages wait that cannot be read: ${readProblem}`;
    const why = stateProblem ?? commitProblem;
    if (waiting === 0) {
      const what = stateProblem ? 'what is remembered cannot be kept' : 'nothing can be committed';
      return why && `${what}: ${why}`;
    }
    const waits = `${waiting} partitions wait until what is remembered is restored`;
    return why === undefined ? waits : `${waits}: ${why}`;
  }
}
