/**
 * One lane a key: the tasks of a key run one after the other in the order they were added, those of
 * different keys side by side. A task that fails does not stop its lane. How many may call the
 * service at once is not decided here but by {@link ConcurrencyLimit}, which a lane enters only for
 * the call itself: a lane that waits for a retry takes no place from the others.
 */
export class Lanes {
  private readonly tails = new Map<string, Promise<void>>();

  /** Keys that have a task waiting or running. */
  get size(): number {
    return this.tails.size;
  }

  /** Adds the task before it returns: two calls in a row for one key keep their order. */
  run<T>(key: string, task: () => Promise<T>): Promise<T> {
    const result = (this.tails.get(key) ?? Promise.resolve()).then(task);
    const tail = result.then(
      () => undefined,
      () => undefined,
    );
    this.tails.set(key, tail);
    void tail.then(() => {
      if (this.tails.get(key) === tail) this.tails.delete(key);
    });
    return result;
  }
}
