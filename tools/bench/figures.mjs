import { median, percentile } from './statistics.mjs';

/** The figures of a scenario: one value a round for each case and figure, with a target if there is one. */
export class Figures {
  #rows = new Map();

  /** `target` is `{atLeast}` or `{atMost}`; `digits` are those after the decimal point. */
  add(of, figure, value, { digits = 0, ...target } = {}) {
    const key = `${of}|${figure}`;
    if (!this.#rows.has(key)) this.#rows.set(key, { of, figure, digits, target, values: [] });
    if (Number.isFinite(value)) this.#rows.get(key).values.push(value);
  }

  /** Adds `p50 …`, `p99 …` and `longest …` of the values; `options` are keyed by that first word. */
  addSpread(of, figure, values, options = {}) {
    for (const [name, q] of Object.entries({ p50: 0.5, p99: 0.99, longest: 1 }))
      this.add(of, `${name} ${figure}`, percentile(values, q), options[name]);
  }

  /** The rows in the order in which they were first added, without those that no round could measure. */
  rows() {
    return [...this.#rows.values()].filter(({ values }) => values.length > 0).map(summarise);
  }
}

function summarise({ of, figure, digits, target: { atLeast, atMost }, values }) {
  const middle = median(values);
  const target = atLeast !== undefined ? { atLeast } : atMost !== undefined ? { atMost } : null;
  const met = target && middle >= (atLeast ?? -Infinity) && middle <= (atMost ?? Infinity);
  return { of, figure, digits, target, met, median: middle, values };
}
