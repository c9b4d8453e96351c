/**
 * Distinguishes a badge scanner, which types like a keyboard, from a person: a burst of characters at intervals of at
 * most MAX_GAP_MS, ended by Enter. Scanners type with 1 to 30 ms between keys, the fastest typists rarely below 50.
 */
export const MAX_GAP_MS = 40;
const MIN_LENGTH = 4;

export interface KeyOutcome {
  /** The key belongs to a burst: it must neither press a button nor stay in a field. */
  partOfBurst: boolean;
  /** It followed another key too soon to be a person's. */
  isQuick: boolean;
  /** The scanned text, once its Enter has come. */
  badge: string | null;
}

export class BadgeReader {
  private text = '';
  private lastAtMs = -Infinity;

  readKey(key: string, atMs: number): KeyOutcome {
    // scanners, too, press Shift and the like between characters
    if (key.length > 1 && key !== 'Enter') {
      return { partOfBurst: false, isQuick: false, badge: null };
    }
    const isQuick = atMs - this.lastAtMs <= MAX_GAP_MS;
    if (!isQuick) this.text = '';
    this.lastAtMs = atMs;
    if (key !== 'Enter') {
      this.text += key;
      return { partOfBurst: this.text.length >= MIN_LENGTH, isQuick, badge: null };
    }
    const badge = isQuick && this.text.length >= MIN_LENGTH ? this.text : null;
    this.text = '';
    return { partOfBurst: badge !== null, isQuick, badge };
  }
}
