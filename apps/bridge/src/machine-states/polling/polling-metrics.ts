import { Injectable } from '@nestjs/common';
import { Counter, Histogram, type Metric } from 'prom-client';

/** Metrics of polling; seconds are the clock's. */
@Injectable()
export class PollingMetrics {
  readonly polls = new Counter({
    name: 'machine_bridge_polls_total',
    help: 'Polls of machine states by outcome',
    labelNames: ['outcome'],
    registers: [],
  });
  readonly latenessSeconds = new Histogram({
    name: 'machine_bridge_poll_lateness_seconds',
    help: 'How long after its turn a machine was polled that had answered before, in seconds of the clock',
    buckets: [0.1, 0.5, 1, 2, 5, 10, 30, 60, 300],
    registers: [],
  });
  readonly logReads = new Counter({
    name: 'machine_bridge_activity_log_reads_total',
    help: 'Activity logs read, to make up for what polls did not see or to confirm what was published',
    labelNames: ['purpose'],
    registers: [],
  });
  readonly logLagSeconds = new Histogram({
    name: 'machine_bridge_activity_log_lag_seconds',
    help: 'By how much an activity log that was read lags behind the state at the least',
    buckets: [0, 60, 120, 300, 600, 1800, 3600, 6 * 3600, 24 * 3600],
    registers: [],
  });
  readonly events = new Counter({
    name: 'machine_bridge_state_events_total',
    help: 'Published state events by type',
    labelNames: ['type'],
    registers: [],
  });

  get all(): Metric[] {
    return [this.polls, this.latenessSeconds, this.logReads, this.logLagSeconds, this.events];
  }
}
