import { Controller, Get, Header, Inject, Injectable, Optional, UseGuards } from '@nestjs/common';
import { collectDefaultMetrics, type Metric, Registry } from 'prom-client';
import { realNowMs } from '#libs/clock';
import type { BridgeSettings } from '#libs/config';
import type { Flow } from '#libs/contracts';
import { scrapedCounter, scrapedGauge } from '#libs/http-api';
import { type ConfiguredKafka, KafkaConsumerStrategy } from '#libs/kafka';
import { VERSION } from '#libs/program';
import { SchemaRegistry } from '#libs/schema-registry';
import type { Tracing } from '#libs/tracing';
import { CommandOutcomes } from '../delivery/index.js';
import { DowntimeReasons } from '../downtime-reasons/index.js';
import { FlowControls } from '../flow-control/index.js';
import { MachineDirectory } from '../machine-directory/index.js';
import { MachineStates } from '../machine-states/index.js';
import {
  BRIDGE_SETTINGS,
  CallLatency,
  KAFKA,
  ServiceClockWatch,
  TRACING,
} from '../platform/index.js';
import { OrderRequests, REQUEST_RESULTS, WorkOrderLists } from '../work-orders/index.js';
import { ApiTokenGuard } from './api-token.guard.js';
import { Readiness } from './readiness.js';

@Injectable()
export class MetricsRegistry {
  private readonly registry = new Registry();
  private readonly flows: ReadonlySet<Flow>;

  constructor(
    @Inject(BRIDGE_SETTINGS) { flows }: BridgeSettings,
    private readonly strategy: KafkaConsumerStrategy,
    private readonly readiness: Readiness,
    @Inject(KAFKA) private readonly kafka: ConfiguredKafka,
    latency: CallLatency,
    serviceClock: ServiceClockWatch,
    private readonly outcomes: CommandOutcomes,
    directory: MachineDirectory,
    @Inject(TRACING) private readonly tracing: Tracing,
    private readonly controls: FlowControls,
    @Optional() lists?: WorkOrderLists,
    @Optional() reasons?: DowntimeReasons,
    @Optional() states?: MachineStates,
    @Optional() private readonly schemas?: SchemaRegistry,
    @Optional() requests?: OrderRequests,
  ) {
    this.flows = flows;
    collectDefaultMetrics({ register: this.registry });
    const sources = [serviceClock, directory, ...(states === undefined ? [] : [states])];
    const metrics = sources.flatMap((source): Metric[] => source.metrics);
    const dispatchers = [lists?.flow, reasons?.flow].filter((flow) => flow !== undefined);
    const enrichment = requests === undefined ? [] : enrichmentMetrics(requests);
    const all = [latency, ...metrics, ...flowMetrics(dispatchers), ...enrichment, ...this.gauges()];
    for (const metric of all) this.registry.registerMetric(metric);
  }

  renderMetrics(): Promise<string> {
    return this.registry.metrics();
  }

  private gauges(): Metric[] {
    const { controls, outcomes, readiness, schemas, tracing } = this;
    const { consumer } = this.strategy;
    return [
      scrapedGauge(
        'machine_bridge_build_info',
        '1; its label says which version runs',
        ['version'],
        (it) => it.set({ version: VERSION }, 1),
      ),
      scrapedCounter(
        'machine_bridge_command_outcomes_total',
        'Input messages by machine, by flow and by what became of them',
        ['flow', 'outcome', 'code'],
        (it) => {
          for (const { count, ...labels } of outcomes.counts.totals()) it.inc(labels, count);
        },
      ),
      scrapedGauge(
        'machine_bridge_input_lag_messages',
        'Messages from the lowest not final to the end',
        ['topic', 'partition'],
        async (it) => {
          for (const { topic, partition, lag } of await consumer.measureBacklog())
            it.set({ topic, partition }, lag);
        },
      ),
      scrapedGauge(
        'machine_bridge_input_in_progress_messages',
        'Messages fetched, not yet final',
        ['topic', 'partition'],
        (it) => {
          for (const { topic, partition, messages } of consumer.inputs.backlog())
            it.set({ topic, partition }, messages);
        },
      ),
      scrapedCounter(
        'machine_bridge_input_lost_messages_total',
        'Messages that were deleted before they were read',
        ['topic'],
        (it) => {
          for (const [topic, count] of consumer.inputs.lost) it.inc({ topic }, count);
        },
      ),
      scrapedCounter(
        'machine_bridge_state_losses_total',
        'Times that a partition of state was found without records that Kafka had acknowledged',
        ['topic'],
        (it) => {
          for (const [topic, count] of consumer.stateLosses) it.inc({ topic }, count);
        },
      ),
      scrapedGauge(
        'machine_bridge_topic_unwritable',
        '1 while the topic, or a partition of it, does not take records',
        ['topic'],
        (it) => {
          for (const { topic, problem } of consumer.health.writtenTopics()) {
            it.set({ topic }, problem === undefined ? 0 : 1);
          }
        },
      ),
      scrapedCounter(
        'machine_bridge_trace_spans_total',
        'Spans by what became of them: exported, failed, dropped',
        ['result'],
        (it) => {
          for (const [result, count] of Object.entries(tracing.spans)) it.inc({ result }, count);
        },
      ),
      scrapedCounter(
        'machine_bridge_schema_registry_requests_total',
        'Requests to the schema registry by what came of them: found, unknown, unavailable, refused',
        ['result'],
        (it) => {
          for (const [result, count] of Object.entries(schemas?.totals ?? {})) {
            it.inc({ result }, count);
          }
        },
      ),
      scrapedGauge(
        'machine_bridge_flow_paused_by_hand',
        '1 while operators have paused the flow, in all processes of the group',
        ['flow'],
        (it) => {
          for (const flow of this.flows) it.set({ flow }, controls.pauseOf(flow) ? 1 : 0);
        },
      ),
      scrapedGauge(
        'machine_bridge_kafka_files_unusable',
        'Changed files of the Kafka login that cannot be used; what they held before is',
        () => this.kafka.fileProblems().length,
      ),
      scrapedGauge('machine_bridge_ready', '1 while the condition holds', ['condition'], (it) => {
        for (const { name, problem } of readiness.conditions()) {
          it.set({ condition: name }, problem === undefined ? 1 : 0);
        }
      }),
    ];
  }
}

@Controller('metrics')
@UseGuards(ApiTokenGuard)
export class MetricsController {
  constructor(private readonly registry: MetricsRegistry) {}

  @Get()
  @Header('content-type', Registry.PROMETHEUS_CONTENT_TYPE)
  metrics(): Promise<string> {
    return this.registry.renderMetrics();
  }
}

interface FlowFigures {
  name: string;
  waiting: number;
  busyMachines: number;
  pausedBecause: string | undefined;
  waiters: { oldestAgeMs(nowMs: number): number };
  caller: { retries: Readonly<Record<string, number>>; splits: number };
}

export function flowMetrics(flows: readonly FlowFigures[]): Metric[] {
  const ofEach = gaugeOfEach(
    'flow',
    () => flows,
    ({ name }) => name,
  );
  return [
    ofEach('waiting_commands', 'Commands that wait for a call', ({ waiting }) => waiting),
    ofEach(
      'busy_machines',
      'Machines with a command waiting or under way',
      ({ busyMachines }) => busyMachines,
    ),
    ofEach(
      'oldest_waiting_seconds',
      'Real time for which the oldest message that is not final has waited',
      ({ waiters }) => waiters.oldestAgeMs(realNowMs()) / 1000,
    ),
    ofEach(
      'flow_paused',
      '1 while nothing gets through and the flow probes',
      ({ pausedBecause }) => (pausedBecause === undefined ? 0 : 1),
    ),
    scrapedCounter(
      'machine_bridge_call_retries_total',
      'Calls to be made again, by cause',
      ['flow', 'cause'],
      (counter) => {
        for (const { name: flow, caller } of flows) {
          for (const [cause, count] of Object.entries(caller.retries)) {
            counter.inc({ flow, cause }, count);
          }
        }
      },
    ),
    scrapedCounter(
      'machine_bridge_split_calls_total',
      'Calls refused as a whole and split',
      ['flow'],
      (counter) => {
        for (const { name: flow, caller } of flows) counter.inc({ flow }, caller.splits);
      },
    ),
  ];
}

/** Metrics of the GETs that complete thin events, collected at each scrape; no series without a rule. */
function enrichmentMetrics(requests: OrderRequests): Metric[] {
  const ofEachRule = gaugeOfEach(
    'rule',
    () => requests.statuses(),
    ({ rule }) => rule,
  );
  return [
    scrapedCounter(
      'machine_bridge_enrichment_requests_total',
      'GETs for orders by what they came to, and requests that were answered by what was known',
      ['rule', 'result'],
      (counter) => {
        for (const { rule, results, known } of requests.statuses()) {
          for (const result of REQUEST_RESULTS) counter.inc({ rule, result }, results[result]);
          counter.inc({ rule, result: 'known' }, known);
        }
      },
    ),
    ofEachRule(
      'enrichment_waiting_orders',
      'Orders that wait for a GET, in this process',
      ({ waitingOrders }) => waitingOrders,
    ),
    ofEachRule(
      'enrichment_oldest_waiting_seconds',
      'Real time for which the oldest of them has waited',
      ({ oldestAgeMs }) => oldestAgeMs / 1000,
    ),
    ofEachRule(
      'enrichment_paused',
      '1 while no GET gets through and the rule probes',
      ({ pausedBecause }) => (pausedBecause === undefined ? 0 : 1),
    ),
  ];
}

function gaugeOfEach<T>(label: string, all: () => readonly T[], nameOf: (one: T) => string) {
  return (name: string, help: string, value: (one: T) => number): Metric =>
    scrapedGauge(`machine_bridge_${name}`, help, [label], (gauge) => {
      for (const one of all()) gauge.set({ [label]: nameOf(one) }, value(one));
    });
}
