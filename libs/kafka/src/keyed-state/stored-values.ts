import { type PackedJson } from './packed-json.js';

const NO_JSON = '';

/**
 * The values of one partition as the JSON they are stored as, and read each time they are asked for: what is read of a
 * hundred thousand small values takes several times the memory of their text.
 */
export class StoredValues<V> {
  /**
   * @param texts JSON by key; taken over
   * @param parse undefined for what cannot be read, which is taken for forgotten
   * @param packed keeps them without the names of fields; undefined where they are stored without already
   */
  constructor(
    private readonly texts: Map<string, string>,
    private readonly parse: (json: unknown) => V | undefined,
    private readonly packed?: PackedJson,
  ) {
    if (packed === undefined) return;
    for (const [key, text] of texts) this.put(key, text);
  }

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
    else this.texts.set(key, this.packed === undefined ? text : packedText(this.packed, text));
  }

  private read(text: string): V | undefined {
    try {
      return this.parse(this.packed === undefined ? JSON.parse(text) : this.packed.unpack(text));
    } catch {
      // Nobody else writes these topics; an unreadable value is no reason to fail.
      return undefined;
    }
  }
}

function packedText(packed: PackedJson, text: string): string {
  try {
    // V8 puts a text of more than a hundred characters together from pieces, and keeps them: copied it is one.
    return Buffer.from(packed.pack(text)).toString();
  } catch {
    return NO_JSON;
  }
}
