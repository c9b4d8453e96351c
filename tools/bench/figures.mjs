import { median } from './statistics.mjs';

/** What a scenario has found: a figure of a case, once a round, with its target if it has one. */
export class Figures {
  #rows = new Map();

  /** `target` is `{atLeast}` or `{atMost}`; `digits` are those after the point. */
  add(of, figure, value, { digits = 0, ...target } = {}) {
    const key = `${of}|${figure}`;
    if (!this.#rows.has(key)) this.#rows.set(key, { of, figure, digits, target, values: [] });
    if (Number.isFinite(value)) this.#rows.get(key).values.push(value);
  }

  /** In the order in which they were first added, without those that no round could measure. */
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
