/** What a test has opened, closed last to first: each one whatever becomes of the others. */
export class Closers {
  private readonly closers: (() => Promise<unknown>)[] = [];

  add(close: () => Promise<unknown>): void {
    this.closers.push(close);
  }

  /** @throws AggregateError of what could not be closed, or had something to report as it was */
  async closeAll(): Promise<void> {
    const errors: unknown[] = [];
    for (const close of this.closers.splice(0).reverse()) {
      await close().catch((error: unknown) => errors.push(error));
    }
    if (errors.length > 0) throw new AggregateError(errors, errors.map(String).join('\n'));
  }
}
