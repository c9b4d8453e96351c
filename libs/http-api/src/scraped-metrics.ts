import { Counter, Gauge, type Metric, type MetricConfiguration } from 'prom-client';

/** How a metric is read: as one value, or with labels. */
type Reading<M> =
  [value: () => number] | [labelNames: string[], read: (metric: M) => void | Promise<void>];

/** A gauge whose values are asked for at each scrape; labels of what is gone do not linger. */
export const scrapedGauge = scraped<Gauge>(Gauge, (gauge, value) => {
  gauge.set(value);
});

/** A counter whose totals are kept elsewhere, where counting by labels would cost too much. */
export const scrapedCounter = scraped<Counter>(Counter, (counter, value) => {
  counter.inc(value);
});

function scraped<M extends Metric>(
  Kind: new (options: MetricConfiguration<string> & { collect(this: M): Promise<void> }) => M,
  set: (metric: M, value: number) => void,
) {
  return (name: string, help: string, ...[first, read]: Reading<M>): Metric =>
    new Kind({
      ...{ name, help, labelNames: typeof first === 'function' ? [] : first, registers: [] },
      async collect(this: M) {
        this.reset();
        if (typeof first === 'function') set(this, first());
        else await read?.(this);
      },
    });
}
