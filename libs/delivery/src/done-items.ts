/** Below what is left of a commit's metadata beside {@link FinishedAhead}: a broker takes 4096 by default. */
const MAX_LENGTH = 900;
const FORM = /^([0-9a-z]{1,11}:[\w-]+)(?:,[0-9a-z]{1,11}:[\w-]+)*$/;

/**
 * Which items of a message are done, where not all of them are: by the offset of the message, and by their place in it,
 * from 0. Kept in the metadata of a commit, so that the next owner of the partition does not do them again behind newer
 * messages.
 */
export class DoneItems {
  private readonly byOffset = new Map<number, Set<number>>();

  /** Empty where the text is none of ours. */
  static read(text: string): DoneItems {
    const items = new DoneItems();
    for (const entry of FORM.test(text) ? text.split(',') : []) {
      const [offset = '', bits = ''] = entry.split(':');
      Buffer.from(bits, 'base64url').forEach((byte, at) => {
        for (let bit = 0; bit < 8; bit += 1) {
          if ((byte & (1 << bit)) !== 0) items.add(parseInt(offset, 36), at * 8 + bit);
        }
      });
    }
    return items;
  }

  add(offset: number, index: number): void {
    const done = this.byOffset.get(offset);
    if (done === undefined) this.byOffset.set(offset, new Set([index]));
    else done.add(index);
  }

  has(offset: number, index: number): boolean {
    return this.byOffset.get(offset)?.has(index) === true;
  }

  /** All of the message is done. */
  delete(offset: number): void {
    this.byOffset.delete(offset);
  }

  copy(): DoneItems {
    const copy = new DoneItems();
    for (const [offset, done] of this.byOffset) copy.byOffset.set(offset, new Set(done));
    return copy;
  }

  get isEmpty(): boolean {
    return this.byOffset.size === 0;
  }

  /** For {@link read}; undefined where it is longer than a commit has room for. */
  compose(): string | undefined {
    const text = [...this.byOffset]
      .map(([offset, done]) => {
        const bits = Buffer.alloc(Math.floor(Math.max(...done) / 8) + 1);
        for (const index of done) bits[index >> 3] = (bits[index >> 3] ?? 0) | (1 << (index & 7));
        return `${offset.toString(36)}:${bits.toString('base64url')}`;
      })
      .join(',');
    return text.length > MAX_LENGTH ? undefined : text;
  }
}
