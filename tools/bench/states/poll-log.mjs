const ROWS_AT_FIRST = 1 << 16;
const BYTES_A_ROW = 24;

/**
 * Polls in the order in which they came, with a column for each property: a million of them must cost the stub little.
 *
 * `machine` is its index, `caller` the index of the token, `shownChanges` how many changes its answers have shown so
 * far; times are epoch milliseconds; `answeredMs` is 0 while there is no answer.
 */
export class PollLog {
  length = 0;
  #rows = 0;

  constructor() {
    this.#grow(ROWS_AT_FIRST);
  }

  /** Yields the row. */
  add({ machine, caller, shownChanges, arrivedMs }) {
    if (this.length === this.#rows) this.#grow(2 * this.#rows);
    const row = this.length;
    this.arrivedMs[row] = arrivedMs;
    this.machine[row] = machine;
    this.caller[row] = caller;
    this.shownChanges[row] = shownChanges;
    this.length += 1;
    return row;
  }

  toBuffer() {
    const columns = [this.arrivedMs, this.answeredMs, this.machine, this.caller, this.shownChanges];
    return Buffer.concat(
      columns.map(({ buffer, BYTES_PER_ELEMENT }) =>
        Buffer.from(buffer, 0, this.length * BYTES_PER_ELEMENT),
      ),
    );
  }

  #grow(rows) {
    const grown = (Column, column) => {
      const larger = new Column(rows);
      if (column !== undefined) larger.set(column);
      return larger;
    };
    this.arrivedMs = grown(Float64Array, this.arrivedMs);
    this.answeredMs = grown(Float64Array, this.answeredMs);
    this.machine = grown(Uint32Array, this.machine);
    this.caller = grown(Uint16Array, this.caller);
    this.shownChanges = grown(Uint16Array, this.shownChanges);
    this.#rows = rows;
  }
}

/** The columns of {@link PollLog#toBuffer}, and their length. */
export function pollsFrom(arrayBuffer) {
  const length = arrayBuffer.byteLength / BYTES_A_ROW;
  return {
    length,
    arrivedMs: new Float64Array(arrayBuffer, 0, length),
    answeredMs: new Float64Array(arrayBuffer, 8 * length, length),
    machine: new Uint32Array(arrayBuffer, 16 * length, length),
    caller: new Uint16Array(arrayBuffer, 20 * length, length),
    shownChanges: new Uint16Array(arrayBuffer, 22 * length, length),
  };
}
