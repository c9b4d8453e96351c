/**
 * The values of one partition as the JSON they are stored as, read each time they are asked for: what is
 * read of a hundred thousand small values takes several times the memory of their text.
 */
export class StoredValues<V> {
  constructor(
    private readonly texts: Map<string, string>,
    /** undefined for what cannot be read, which is taken for forgotten. */
    private readonly parse: (json: unknown) => V | undefined,
  ) {}

  get(key: string): V | undefined {
    const text = this.texts.get(key);
    return text === undefined ? undefined : this.read(text);
  }

  /** Also of what cannot be read. */
  keys(): IterableIterator<string> {
    return this.texts.keys();
  }

  *entries(): IterableIterator<[string, V]> {
    for (const [key, text] of this.texts) {
      const value = this.read(text);
      if (value !== undefined) yield [key, value];
    }
  }

  /** null forgets the key. */
  put(key: string, text: string | null): void {
    if (text === null) this.texts.delete(key);
    else this.texts.set(key, text);
  }

  private read(text: string): V | undefined {
    try {
      return this.parse(JSON.parse(text));
    } catch {
      // Nobody else writes these topics; an unreadable value is no reason to fail.
      return undefined;
    }
  }
}
