import { Counter, Gauge, type Metric, type MetricConfiguration } from 'prom-client';

type LabelledReading<M> = [labelNames: string[], read: (metric: M) => void | Promise<void>];

/** How a metric is read: as one value, or with labels. */
type Reading<M> = [value: () => number] | LabelledReading<M>;

/** A gauge that is read at each scrape; labels that are no longer reported disappear. */
export const scrapedGauge = scraped<Gauge>(Gauge, (gauge, value) => gauge.set(value));

/** A counter that is read at each scrape from totals kept elsewhere, since counting by labels would cost too much. */
export const scrapedCounter = scraped<Counter>(Counter, (counter, value) => counter.inc(value));

function scraped<M extends Metric>(
  Kind: new (options: MetricConfiguration<string> & { collect(this: M): Promise<void> }) => M,
  set: (metric: M, value: number) => void,
) {
  return (name: string, help: string, ...reading: Reading<M>): Metric => {
    const [labelNames, read]: LabelledReading<M> =
      reading.length === 2 ? reading : [[], (metric) => set(metric, reading[0]())];
    return new Kind({
      ...{ name, help, labelNames, registers: [] },
      async collect(this: M) {
        this.reset();
        await read(this);
      },
    });
  };
}
