import { Counter, Gauge, type Metric } from 'prom-client';

/** A gauge whose values are asked for at each scrape; labels of what is gone do not linger. */
export function scrapedGauge(
  name: string,
  help: string,
  labelNames: string[],
  read: (gauge: Gauge) => void | Promise<void>,
): Metric {
  return new Gauge({
    ...{ name, help, labelNames, registers: [] },
    async collect() {
      this.reset();
      await read(this);
    },
  });
}

/** A counter whose totals are kept elsewhere, where counting by labels would cost too much. */
export function scrapedCounter(
  name: string,
  help: string,
  labelNames: string[],
  read: (counter: Counter) => void,
): Metric {
  return new Counter({
    ...{ name, help, labelNames, registers: [] },
    collect() {
      this.reset();
      read(this);
    },
  });
}
