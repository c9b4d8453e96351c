import { type Receipt } from '#libs/messaging';

/** What a message waits for, of which there are several, as one: acknowledged once all is, refused with the first that is. */
export class JointReceipt implements Receipt {
  private isRefused = false;

  /** @param open how often it will be told of something, once of each; one at least */
  constructor(
    private open: number,
    private readonly whole: Receipt,
  ) {}

  acknowledged(): void {
    this.open -= 1;
    if (this.open === 0 && !this.isRefused) this.whole.acknowledged();
  }

  refused(error: unknown): void {
    if (this.isRefused) return;
    this.isRefused = true;
    this.whole.refused(error);
  }
}
