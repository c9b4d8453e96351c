import { Injectable } from '@nestjs/common';
import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';
import { SenderAccess } from '../access/sender-access.js';
import { Callbacks } from '../callbacks/callbacks.js';
import { Submissions } from '../kafka/submissions.js';

@Injectable()
export class IngestMetrics {
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

  constructor(submissions: Submissions, access: SenderAccess, callbacks: Callbacks) {
    const { registers } = this;
    collectDefaultMetrics({ register: this.registry });
    const { log, counts } = submissions;
    new Gauge({
      ...{ name: 'machine_ingest_kafka_up', help: '1 while records can be written', registers },
      collect() {
        this.set(Number(submissions.problem === undefined));
      },
    });
    new Gauge({
      ...{ name: 'machine_ingest_waiting', help: 'Records that Kafka has not yet', registers },
      collect() {
        this.set(submissions.waiting);
      },
    });
    new Gauge({
      ...{ name: 'machine_ingest_remembered_ids', help: 'Ids of the last day', registers },
      collect() {
        this.set(log.size);
      },
    });
    new Counter({
      ...{ name: 'machine_ingest_ids_forgotten_early_total', registers },
      help: 'Ids forgotten before their day was over, as there were too many',
      collect() {
        this.reset();
        this.inc(log.forgottenEarly);
      },
    });
    new Counter({
      ...{ name: 'machine_ingest_records_written_total', help: 'Records written', registers },
      collect() {
        this.reset();
        this.inc(counts.written);
      },
    });
    new Counter({
      ...{ name: 'machine_ingest_records_repeated_total', registers },
      help: 'Records that had been written before under the same id',
      collect() {
        this.reset();
        this.inc(counts.repeated);
      },
    });
    new Counter({
      ...{
        name: 'machine_ingest_unknown_senders_total',
        help: 'Requests of nobody known',
        registers,
      },
      collect() {
        this.reset();
        this.inc(access.refused);
      },
    });
    new Counter({
      name: 'machine_ingest_callback_calls_total',
      help: 'Calls of callbacks',
      labelNames: ['sender', 'status'],
      registers,
      collect() {
        this.reset();
        for (const { sender, calls } of callbacks.flows) {
          for (const [status, count] of calls) this.inc({ sender, status }, count);
        }
      },
    });
    new Counter({
      name: 'machine_ingest_callback_outcomes_total',
      help: 'Outcomes of messages of senders with a callback, by what became of them',
      labelNames: ['sender', 'result'],
      registers,
      collect() {
        this.reset();
        for (const { sender, outcomes } of callbacks.flows) {
          for (const [result, count] of outcomes) this.inc({ sender, result }, count);
        }
      },
    });
    new Gauge({
      name: 'machine_ingest_callback_waiting',
      help: 'Outcomes that wait',
      labelNames: ['sender'],
      registers,
      collect() {
        this.reset();
        for (const { sender, waitingCount } of callbacks.flows) this.set({ sender }, waitingCount);
      },
    });
    new Gauge({
      name: 'machine_ingest_callback_oldest_seconds',
      help: 'Age of the oldest outcome that waits',
      labelNames: ['sender'],
      registers,
      collect() {
        this.reset();
        for (const { sender, oldestSeconds } of callbacks.flows)
          this.set({ sender }, oldestSeconds);
      },
    });
  }

  answered(sender: string, path: string, status: number, seconds: number): void {
    this.requests.inc({ sender, path, status });
    this.seconds.observe({ path }, seconds);
  }

  text(): Promise<string> {
    return this.registry.metrics();
  }
}
