import { Controller, Get, Header } from '@nestjs/common';
import { collectDefaultMetrics, Counter, Histogram, Registry } from 'prom-client';
import { scrapedCounter, scrapedGauge } from '#libs/http-api';
import { SenderAccess } from '../access/sender-access.js';
import { Callbacks } from '../callbacks/callbacks.js';
import { RequestWriter } from '../kafka/request-writer.js';

@Controller('metrics')
export class MetricsController {
  private readonly registry = new Registry();
  private readonly registers = [this.registry];
  private readonly requests = new Counter({
    name: 'machine_ingest_requests_total',
    help: 'Requests answered',
    labelNames: ['sender', 'path', 'status'],
    registers: this.registers,
  });
  private readonly seconds = new Histogram({
    name: 'machine_ingest_request_seconds',
    help: 'Time until requests were answered',
    labelNames: ['path'],
    buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5],
    registers: this.registers,
  });

  constructor(writer: RequestWriter, access: SenderAccess, callbacks: Callbacks) {
    collectDefaultMetrics({ register: this.registry });
    const { log, counts } = writer;
    const metrics = [
      scrapedGauge('machine_ingest_kafka_up', '1 while records can be written', () =>
        Number(writer.intakeProblem === undefined),
      ),
      scrapedGauge(
        'machine_ingest_waiting',
        'Records that Kafka has not yet',
        () => writer.waitingCount,
      ),
      scrapedGauge('machine_ingest_remembered_ids', 'Ids of the last day', () => log.size),
      scrapedCounter(
        'machine_ingest_ids_forgotten_early_total',
        'Ids forgotten before their day was over, as there were too many',
        () => log.forgottenEarly,
      ),
      scrapedCounter(
        'machine_ingest_records_written_total',
        'Records written',
        () => counts.written,
      ),
      scrapedCounter(
        'machine_ingest_records_repeated_total',
        'Records that had been written before under the same id',
        () => counts.repeated,
      ),
      scrapedCounter(
        'machine_ingest_unknown_senders_total',
        'Requests of nobody known',
        () => access.unknownSenderCount,
      ),
      scrapedCounter(
        'machine_ingest_callback_calls_total',
        'Calls of callbacks',
        ['sender', 'status'],
        (it) => {
          for (const { sender, calls } of callbacks.flows) {
            for (const [status, count] of calls) it.inc({ sender, status }, count);
          }
        },
      ),
      scrapedCounter(
        'machine_ingest_callback_outcomes_total',
        'Outcomes of messages of senders with a callback, by what became of them',
        ['sender', 'result'],
        (it) => {
          for (const { sender, outcomes } of callbacks.flows) {
            for (const [result, count] of outcomes) it.inc({ sender, result }, count);
          }
        },
      ),
      scrapedGauge('machine_ingest_callback_waiting', 'Outcomes that wait', ['sender'], (it) => {
        for (const { sender, waitingCount } of callbacks.flows) it.set({ sender }, waitingCount);
      }),
      scrapedGauge(
        'machine_ingest_callback_oldest_seconds',
        'Age of the oldest outcome that waits',
        ['sender'],
        (it) => {
          for (const { sender, oldestSeconds } of callbacks.flows)
            it.set({ sender }, oldestSeconds);
        },
      ),
    ];
    for (const metric of metrics) this.registry.registerMetric(metric);
  }

  countAnswer(sender: string, path: string, status: number, seconds: number): void {
    this.requests.inc({ sender, path, status });
    this.seconds.observe({ path }, seconds);
  }

  @Get()
  @Header('content-type', Registry.PROMETHEUS_CONTENT_TYPE)
  metrics(): Promise<string> {
    return this.registry.metrics();
  }
}
