const NO_JSON = '';

/** Values of a partition as JSON, parsed on each access: 100,000 objects take several times the memory. */
export class StoredValues<V> {
  private readonly packed: PackedJson | undefined;

  /**
   * @param texts JSON by key; owned by this object from now on
   * @param parse returns undefined for a value that it cannot read, which counts as absent
   * @param isPacked keeps values without field names; false if they are already stored so
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

  /** Includes keys whose value cannot be read. */
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
      // Only the bridge writes these topics; an unreadable value is no reason to fail.
      return undefined;
    }
  }
}

function packedText(packed: PackedJson, text: string): string {
  try {
    // V8 keeps the pieces that a concatenated string is made of; the copy is a single one.
    return Buffer.from(packed.pack(text)).toString();
  } catch {
    return NO_JSON;
  }
}

/** Bounded because each object used as a map has its own shape. */
const MOST_SHAPES = 256;
const ARRAY = -1;

type Json = string | number | boolean | null | Json[] | { [key: string]: Json };

/**
 * JSON without field names, for 100,000 similar values: half or more of their text is names. An object becomes the
 * number of its shape (its fields in order) and its values, an array -1 and its items. Objects beyond the limit of
 * shapes stay as they are.
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
    // Assigning it would set the prototype.
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
