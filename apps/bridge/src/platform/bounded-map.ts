/** A map with a bound, in the order of the latest `set`: beyond the bound it deletes the oldest entry. */
export class BoundedMap<K, V> extends Map<K, V> {
  constructor(private readonly most: number) {
    super();
  }

  override set(key: K, value: V): this {
    // A map keeps the order of insertion: deleting the key first makes it the newest.
    this.delete(key);
    super.set(key, value);
    const [oldest] = this.size > this.most ? this.keys() : [];
    if (oldest !== undefined) this.delete(oldest);
    return this;
  }
}
