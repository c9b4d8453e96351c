/** Closes everything that a test has opened, last to first. A failure does not keep the others from being closed. */
export class Closers {
  private readonly closers: (() => Promise<unknown>)[] = [];

  add(close: () => Promise<unknown>): void {
    this.closers.push(close);
  }

  /** @throws AggregateError of failures to close, or of problems found while closing */
  async closeAll(): Promise<void> {
    const errors: unknown[] = [];
    for (const close of this.closers.splice(0).reverse()) {
      await close().catch((error: unknown) => errors.push(error));
    }
    if (errors.length > 0) throw new AggregateError(errors, errors.map(String).join('\n'));
  }
}
