import { Counter, Gauge, type Metric } from 'prom-client';

/** How a metric is read: as one value, or with labels. */
type Reading<M> =
  [value: () => number] | [labelNames: string[], read: (metric: M) => void | Promise<void>];

/** A gauge whose values are asked for at each scrape; labels of what is gone do not linger. */
export function scrapedGauge(name: string, help: string, ...reading: Reading<Gauge>): Metric {
  const [labelNames, read] = withLabels(reading, (gauge, value) => {
    gauge.set(value);
  });
  return new Gauge({
    ...{ name, help, labelNames, registers: [] },
    async collect() {
      this.reset();
      await read(this);
    },
  });
}

/** A counter whose totals are kept elsewhere, where counting by labels would cost too much. */
export function scrapedCounter(name: string, help: string, ...reading: Reading<Counter>): Metric {
  const [labelNames, read] = withLabels(reading, (counter, value) => {
    counter.inc(value);
  });
  return new Counter({
    ...{ name, help, labelNames, registers: [] },
    async collect() {
      this.reset();
      await read(this);
    },
  });
}

function withLabels<M>(reading: Reading<M>, set: (metric: M, value: number) => void) {
  if (reading.length === 2) return reading;
  const [value] = reading;
  const read = (metric: M): void => {
    set(metric, value());
  };
  return [[], read] satisfies [string[], typeof read];
}
