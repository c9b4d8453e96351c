import { Inject, Injectable, Optional } from '@nestjs/common';
import { Clock, realNowMs, withDeadline } from '#libs/clock';
import type { BridgeSettings } from '#libs/config';
import {
  CONSUMED_TOPICS,
  type Flow,
  FLOWS,
  type FlowShare,
  type GroupFlow,
  INTERNAL_TOPICS,
} from '#libs/contracts';
import { groupOffsets, type KafkaClient, KafkaConsumerStrategy } from '#libs/kafka';
import { SchemaRegistry } from '#libs/schema-registry';
import { DowntimeReasons } from '../downtime-reasons/index.js';
import {
  FlowControls,
  type FlowControl,
  type FlowShares,
  GroupShares,
  type ProcessShares,
} from '../flow-control/index.js';
import { MachineStates } from '../machine-states/index.js';
import { BRIDGE_SETTINGS, KAFKA } from '../platform/index.js';
import { OrderRequests, WorkOrderLists } from '../work-orders/index.js';

/** Deadline of reading lags, which may take many requests to Kafka. */
const LAG_DEADLINE_MS = 3000;

@Injectable()
export class GroupFlows {
  /** When a flow was first seen paused, in epoch seconds; checked every few seconds. */
  private readonly pausedSince = new Map<Flow, number>();
  private readingLags: Promise<ReadonlyMap<Flow, number>> | undefined;

  constructor(
    @Inject(BRIDGE_SETTINGS) private readonly settings: BridgeSettings,
    @Inject(KAFKA) private readonly kafka: KafkaClient,
    private readonly clock: Clock,
    private readonly strategy: KafkaConsumerStrategy,
    private readonly controls: FlowControls,
    private readonly shares: GroupShares,
    @Optional() private readonly lists?: WorkOrderLists,
    @Optional() private readonly reasons?: DowntimeReasons,
    @Optional() private readonly states?: MachineStates,
    @Optional() private readonly registry?: SchemaRegistry,
    @Optional() private readonly requests?: OrderRequests,
  ) {
    shares.setOwnShares(() => this.ownShares());
  }

  async listFlows(): Promise<GroupFlow[]> {
    const lags = await this.lagsWithinDeadline();
    const processes = this.shares.sharesByProcess();
    // Not in the share that this process reports: the problem concerns this process only.
    const problem = this.controls.problem ?? this.strategy.consumer.outage;
    return FLOWS.flatMap((flow) => {
      const pause = this.controls.pauseOf(flow);
      const answer = groupFlow(flow, pause, processes, lags.get(flow) ?? null);
      if (answer === undefined) return [];
      const isKnown = problem === undefined || answer.state === 'pausedByHand';
      return isKnown ? answer : { ...answer, state: 'paused', why: problem };
    });
  }

  private ownShares(): FlowShares {
    const shares: FlowShares = {};
    for (const flow of this.settings.flows) shares[flow] = this.ownShare(flow);
    return shares;
  }

  private ownShare(flow: Flow): FlowShare {
    switch (flow) {
      case 'work-orders':
        return this.commandShare(flow, this.lists?.flow, this.requests?.statuses());
      case 'downtime-reasons':
        return this.commandShare(flow, this.reasons?.flow);
      case 'machine-states': {
        const { waiting = 0, oldestWaitingSeconds = 0, lastError = null } = this.states ?? {};
        const partitions = { [INTERNAL_TOPICS.machineStates]: this.states?.topic.owned ?? [] };
        const pause = this.notePause(flow, this.states?.pausedBecause);
        return { ...pause, waiting, oldestWaitingSeconds, lastError, partitions };
      }
      default:
        return flow satisfies never;
    }
  }

  /** @param rules whose orders that wait for a GET to an ERP count as well; a paused rule does not pause the flow */
  private commandShare(
    flow: Flow,
    dispatcher: WorkOrderLists['flow'] | DowntimeReasons['flow'] | undefined,
    rules: ReturnType<OrderRequests['statuses']> = [],
  ): FlowShare {
    const { waiting = 0, pausedBecause, waiters, status } = dispatcher ?? {};
    const failures = [status, this.registry, ...rules].flatMap((each) => each?.lastFailure ?? []);
    const [failure] = failures.sort((a, b) => b.atMs - a.atMs);
    const oldestAgeMs = Math.max(
      waiters?.oldestAgeMs(realNowMs()) ?? 0,
      ...rules.map((rule) => rule.oldestAgeMs),
    );
    const partitions: Record<string, number[]> = {};
    for (const { topic: full, partition } of this.strategy.consumer.inputs.backlog()) {
      const topic = full.slice(this.settings.kafka.topicPrefix.length);
      if (CONSUMED_TOPICS[flow].includes(topic)) (partitions[topic] ??= []).push(partition);
    }
    return {
      ...this.notePause(flow, pausedBecause),
      waiting: rules.reduce((sum, { waitingOrders }) => sum + waitingOrders, waiting),
      oldestWaitingSeconds: Math.floor(oldestAgeMs / 1000),
      lastError:
        failure === undefined ? null : { why: failure.why, at: this.toEpochSeconds(failure.atMs) },
      partitions,
    };
  }

  private notePause(flow: Flow, why?: string): Pick<FlowShare, 'state' | 'why' | 'since'> {
    const pause = this.controls.pauseOf(flow);
    if (pause !== undefined) {
      return { state: 'pausedByHand', why: pause.reason, since: pause.since };
    }
    if (why === undefined) {
      this.pausedSince.delete(flow);
      return { state: 'running', why: null, since: null };
    }
    const since = this.pausedSince.get(flow) ?? this.clock.nowSeconds();
    this.pausedSince.set(flow, since);
    return { state: 'paused', why, since };
  }

  /** Converts a past time in real, monotonic milliseconds to epoch seconds. */
  private toEpochSeconds(realMs: number): number {
    const agoMs = (realNowMs() - realMs) * this.clock.speed;
    return Math.floor((this.clock.nowMs() - agoMs) / 1000);
  }

  private async lagsWithinDeadline(): Promise<ReadonlyMap<Flow, number>> {
    this.readingLags ??= this.readLags().finally(() => {
      this.readingLags = undefined;
    });
    const reading = this.readingLags;
    return (await withDeadline(reading, LAG_DEADLINE_MS)) ? reading : new Map<Flow, number>();
  }

  private async readLags(): Promise<ReadonlyMap<Flow, number>> {
    const { groupId, topicPrefix } = this.settings.kafka;
    const lags = new Map<Flow, number>();
    await Promise.all(
      [...this.settings.flows].map(async (flow) => {
        const topics = CONSUMED_TOPICS[flow].map((name) => `${topicPrefix}${name}`);
        if (topics.length === 0) return;
        try {
          const offsets = await groupOffsets(this.kafka, groupId, topics);
          let open = 0;
          for (const { lag, finishedAhead } of offsets) open += Math.max(0, lag - finishedAhead);
          lags.set(flow, open);
        } catch {
          // The lag is unknown; health reports the problem with Kafka.
        }
      }),
    );
    return lags;
  }
}

/** Undefined for a flow that no process runs and no operator has paused. */
export function groupFlow(
  name: Flow,
  pause: FlowControl | undefined,
  all: readonly ProcessShares[],
  lag: number | null,
): GroupFlow | undefined {
  const processes = all.flatMap(({ process, flows }) => {
    const share = flows[name];
    return share === undefined ? [] : [{ process, ...share }];
  });
  if (pause === undefined && processes.length === 0) return undefined;
  // A report may be older than the control that this process has read.
  const paused = processes.filter(({ state }) => state === 'paused');
  const first = paused.toSorted((a, b) => (a.since ?? 0) - (b.since ?? 0))[0];
  const errors = processes.flatMap(({ lastError }) => lastError ?? []);
  return {
    name,
    ...stateOf(pause, first),
    lag,
    waiting: processes.reduce((sum, { waiting }) => sum + waiting, 0),
    oldestWaitingSeconds: Math.max(0, ...processes.map((each) => each.oldestWaitingSeconds)),
    lastError: errors.toSorted((a, b) => b.at - a.at)[0] ?? null,
    processes,
  };
}

/** Paused by hand, whatever the service answers; else paused if one process is. */
function stateOf(
  pause: FlowControl | undefined,
  firstPaused: FlowShare | undefined,
): Pick<GroupFlow, 'state' | 'why' | 'since' | 'by'> {
  if (pause !== undefined) {
    const { reason: why, since, by } = pause;
    return { state: 'pausedByHand', why, since, by };
  }
  const { why = null, since = null } = firstPaused ?? {};
  return { state: firstPaused === undefined ? 'running' : 'paused', why, since, by: null };
}
