import { Injectable, Optional } from '@nestjs/common';
import { IdempotentProducer, KafkaConsumerStrategy } from '#libs/kafka';
import { DowntimeReasons } from '../downtime-reasons/index.js';
import { MachineStates } from '../machine-states/index.js';
import { WorkOrderLists } from '../work-orders/index.js';

/** One thing that must be in order; `problem` says in words what is not. */
export interface Condition {
  name: string;
  problem: string | undefined;
}

/** Collects what keeps the bridge from doing its work. */
@Injectable()
export class Readiness {
  constructor(
    private readonly strategy: KafkaConsumerStrategy,
    private readonly producer: IdempotentProducer,
    @Optional() private readonly lists?: WorkOrderLists,
    @Optional() private readonly reasons?: DowntimeReasons,
    @Optional() private readonly states?: MachineStates,
  ) {}

  conditions(): Condition[] {
    const conditions: Condition[] = [
      { name: 'kafka', problem: this.kafkaProblem() },
      { name: 'outcomes', problem: this.outcomesProblem() },
    ];
    for (const flow of [this.lists?.flow, this.reasons?.flow]) {
      if (flow !== undefined) {
        conditions.push({ name: flow.name, problem: paused(flow.pausedBecause) });
      }
    }
    if (this.states !== undefined) {
      conditions.push({ name: 'machine-states', problem: paused(this.states.pausedBecause) });
    }
    return conditions;
  }

  private outcomesProblem(): string | undefined {
    const problems = this.strategy.consumer.writtenTopics.flatMap(({ topic, problem }) =>
      problem ? [`${topic}: ${problem}`] : [],
    );
    const said =
      problems.length > 0
        ? [`outcomes and dead letters are not taken: ${problems.join('; ')}`]
        : [];
    const { problem } = this.producer;
    if (problem !== undefined) said.push(`machines' reasons are not taken: ${problem}`);
    return said.length > 0 ? said.join('; ') : undefined;
  }

  private kafkaProblem(): string | undefined {
    const { consumer } = this.strategy;
    switch (consumer.state) {
      case 'running':
        return this.stateProblem();
      case 'starting':
        return consumer.startProblem ?? 'not yet a member of the consumer group';
      case 'broken':
        return `Kafka cannot be reached, or the group coordinator does not answer; trying again: ${consumer.endedBecause}`;
      case 'stopped':
        return 'the bridge is stopping';
      default:
        return consumer.state satisfies never;
    }
  }

  private stateProblem(): string | undefined {
    const { heldPartitions: held, stateProblem, commitProblem } = this.strategy.consumer;
    const why = stateProblem ?? commitProblem;
    if (held === 0) {
      const what = stateProblem ? 'what is remembered cannot be kept' : 'nothing can be committed';
      return why && `${what}: ${why}`;
    }
    const waits = `${held} partitions wait until what is remembered is restored`;
    return why === undefined ? waits : `${waits}: ${why}`;
  }
}

function paused(why: string | undefined): string | undefined {
  return why === undefined ? undefined : `paused: ${why}`;
}
