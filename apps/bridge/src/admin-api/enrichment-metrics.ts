import type { Metric } from 'prom-client';
import { type OrderRequests, REQUEST_RESULTS } from '../work-orders/index.js';
import { scrapedCounter, scrapedGauge } from '../platform/index.js';

/** Metrics of the GETs that complete thin events, collected at each scrape; no series without a rule. */
export function enrichmentMetrics(requests: OrderRequests): Metric[] {
  return [
    scrapedCounter(
      'enrichment_requests_total',
      'GETs for orders by what they came to, and requests that were answered by what was known',
      ['rule', 'result'],
      (counter) => {
        for (const { rule, results, known } of requests.statuses()) {
          for (const result of REQUEST_RESULTS) counter.inc({ rule, result }, results[result]);
          counter.inc({ rule, result: 'known' }, known);
        }
      },
    ),
    scrapedGauge(
      'enrichment_waiting_orders',
      'Orders that wait for a GET, in this process',
      ['rule'],
      (gauge) => {
        for (const { rule, waitingOrders } of requests.statuses()) {
          gauge.set({ rule }, waitingOrders);
        }
      },
    ),
    scrapedGauge(
      'enrichment_oldest_waiting_seconds',
      'Real time for which the oldest of them has waited',
      ['rule'],
      (gauge) => {
        for (const { rule, oldestAgeMs } of requests.statuses()) {
          gauge.set({ rule }, oldestAgeMs / 1000);
        }
      },
    ),
    scrapedGauge(
      'enrichment_paused',
      '1 while no GET gets through and the rule probes',
      ['rule'],
      (gauge) => {
        for (const { rule, pausedBecause } of requests.statuses()) {
          gauge.set({ rule }, pausedBecause === undefined ? 0 : 1);
        }
      },
    ),
  ];
}
