const NO_JSON = '';

/** A partition's values as JSON, read when asked for: a hundred thousand objects take several times the memory. */
export class StoredValues<V> {
  private readonly packed: PackedJson | undefined;

  /**
   * @param texts JSON by key; taken over
   * @param parse undefined for what cannot be read, which is taken for forgotten
   * @param isPacked keeps them without the names of fields; not where they are stored without already
   */
  constructor(
    private readonly texts: Map<string, string>,
    private readonly parse: (json: unknown) => V | undefined,
    isPacked: boolean,
  ) {
    if (!isPacked) return;
    this.packed = new PackedJson();
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

/** A bound, because an object that is used as a map has another shape each time. */
const MOST_SHAPES = 256;
const ARRAY = -1;

type Json = string | number | boolean | null | Json[] | { [key: string]: Json };

/**
 * JSON without the names of its fields, for values that are alike by the hundred thousand: half or more of their text
 * is names. An object becomes the number of its shape (which fields, in which order) and its values, an array -1 and
 * its items. Objects beyond the bound of shapes stay as they are.
 */
export class PackedJson {
  private readonly numbers = new Map<string, number>();
  private readonly shapes: (readonly string[])[] = [];

  /** @throws SyntaxError when the text is no JSON */
  pack(text: string): string {
    return JSON.stringify(this.packed(JSON.parse(text) as Json));
  }

  unpack(packed: string): unknown {
    return this.unpacked(JSON.parse(packed) as Json);
  }

  private packed(value: Json): Json {
    if (typeof value !== 'object' || value === null) return value;
    if (Array.isArray(value)) return [ARRAY, ...value.map((item) => this.packed(item))];
    const shape = this.shapeOf(Object.keys(value));
    if (shape === undefined) return value;
    return [shape, ...Object.values(value).map((field) => this.packed(field))];
  }

  private shapeOf(fields: readonly string[]): number | undefined {
    const name = JSON.stringify(fields);
    const known = this.numbers.get(name);
    if (known !== undefined || this.shapes.length === MOST_SHAPES) return known;
    // assigned, it would become the prototype
    if (fields.includes('__proto__')) return undefined;
    this.numbers.set(name, this.shapes.length);
    return this.shapes.push(fields) - 1;
  }

  private unpacked(value: Json): Json {
    if (!Array.isArray(value)) return value;
    const [shape, ...items] = value;
    const fields = this.shapes[Number(shape)];
    if (fields === undefined) return items.map((item) => this.unpacked(item));
    const object: Record<string, Json> = {};
    for (const [index, field] of fields.entries())
      object[field] = this.unpacked(items[index] ?? null);
    return object;
  }
}
