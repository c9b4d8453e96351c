/** How something that runs by callbacks comes to its end, once: well, or with an error. */
export class Completion {
  /** Resolves or rejects with the first word of how it ended. */
  readonly reached: Promise<void>;
  private over = false;
  private settle: (error: Error | undefined) => void = () => undefined;

  constructor() {
    this.reached = new Promise((resolve, reject) => {
      this.settle = (error) => {
        if (error === undefined) resolve();
        else reject(error);
      };
    });
  }

  get isOver(): boolean {
    return this.over;
  }

  end(error?: Error): void {
    this.over = true;
    this.settle(error);
  }
}
