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

  /** The value of a text that was packed here. */
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
