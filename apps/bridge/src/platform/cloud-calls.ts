import { Histogram, type Metric } from 'prom-client';
import type { CloudCall } from '#libs/cloud-client';

/** Latency of calls to the service by operation and status. */
export class CloudCalls {
  private readonly latency = new Histogram({
    name: 'machine_bridge_cloud_call_duration_seconds',
    help: 'Duration of calls to the Machine Data Service by operation and status',
    labelNames: ['operation', 'status'],
    buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
    registers: [],
  });

  get metrics(): Metric[] {
    return [this.latency];
  }

  readonly observe = ({ operation, status, durationMs }: CloudCall): void => {
    this.latency.observe({ operation, status }, durationMs / 1000);
  };
}
