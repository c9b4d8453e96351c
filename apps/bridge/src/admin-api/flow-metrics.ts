import type { Metric } from 'prom-client';
import { realNowMs } from '#libs/clock';
import { scrapedCounter, scrapedGauge } from '#libs/http-api';
import { type OrderRequests, REQUEST_RESULTS } from '../work-orders/index.js';

interface Flow {
  name: string;
  waiting: number;
  busyMachines: number;
  pausedBecause: string | undefined;
  waiters: { oldestAgeMs(nowMs: number): number };
  calls: { retries: Readonly<Record<string, number>>; splits: number };
}

export function flowMetrics(flows: readonly Flow[]): Metric[] {
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
        for (const { name: flow, calls } of flows) {
          for (const [cause, count] of Object.entries(calls.retries)) {
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
        for (const { name: flow, calls } of flows) counter.inc({ flow }, calls.splits);
      },
    ),
  ];
}

/** Metrics of the GETs that complete thin events, collected at each scrape; no series without a rule. */
export function enrichmentMetrics(requests: OrderRequests): Metric[] {
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
