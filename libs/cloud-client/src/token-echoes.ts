import { decodeOnce, type TextView, viewOf } from './decode-once.js';

const BLACK = '***';
/** Escaped within what is escaped, such as HTML in a JSON string of a log entry that is JSON itself. */
const MOST_LAYERS = 4;
/** What is longer is not read for a sentence on what was wrong, but would hold everybody up. */
const LONGEST_TEXT = 256 * 1024;
/** Less of a token would be found in words as well. */
const SHORTEST_BASE64 = 4;

interface Span {
  start: number;
  end: number;
}

/**
 * Finds a token in what the service echoes: as it is, with any of its characters escaped for JSON, a URL or HTML,
 * and in Base64, alone or with something before and behind it. A search rather than a regular expression of all its
 * forms: tokens may be of thousands of characters. One for each token.
 */
export class TokenEchoes {
  private forms: { plain: readonly string[]; base64: readonly string[] } | undefined;

  constructor(private readonly token: string) {}

  /** The text with each echo replaced; nothing of a text that is too long to be read. */
  blacken(text: string): string {
    if (text.length > LONGEST_TEXT) return '';
    const { plain, base64 } = (this.forms ??= formsOf(this.token));
    let spans: Span[] = [];
    let view: TextView | undefined = viewOf(text);
    for (let layer = 0; view !== undefined && layer <= MOST_LAYERS; layer += 1) {
      const inBase64 = echoesIn(view, toBase64Url(view.text), base64);
      spans = spans.concat(echoesIn(view, view.text, plain), inBase64);
      view = decodeOnce(view);
    }
    return withoutSpans(text, spans);
  }
}

function formsOf(token: string): { plain: string[]; base64: string[] } {
  const plain = [token];
  // What looks like an escape in the token itself is undone with those of its echo.
  for (let view = decodeOnce(viewOf(token)); view !== undefined; view = decodeOnce(view)) {
    plain.push(view.text);
    if (plain.length > MOST_LAYERS) break;
  }
  const base64 = [0, 1, 2].map((before) => base64Of(token, before));
  return { plain, base64: base64.filter(({ length }) => length >= SHORTEST_BASE64) };
}

/** The token in Base64 behind so many bytes of a group of three, as far as it does not depend on its neighbours. */
function base64Of(token: string, before: number): string {
  const bytes = Buffer.concat([Buffer.alloc(before), Buffer.from(token)]);
  const first = Math.ceil((before * 8) / 6);
  return bytes.toString('base64url').slice(first, Math.floor((bytes.length * 8) / 6));
}

/** Of the same length, so that places stay the same. */
function toBase64Url(text: string): string {
  return text.replaceAll('+', '-').replaceAll('/', '_');
}

function echoesIn(view: TextView, text: string, forms: readonly string[]): Span[] {
  const spans: Span[] = [];
  for (const form of forms) {
    if (form === '') continue;
    for (let at = text.indexOf(form); at !== -1; at = text.indexOf(form, at + form.length)) {
      spans.push({ start: view.sourceIndex(at), end: view.sourceIndex(at + form.length) });
    }
  }
  return spans;
}

function withoutSpans(text: string, spans: Span[]): string {
  let kept = '';
  let doneTo = 0;
  for (const { start, end } of spans.toSorted((one, other) => one.start - other.start)) {
    if (end <= doneTo) continue;
    if (start >= doneTo) kept += text.slice(doneTo, start) + BLACK;
    doneTo = end;
  }
  return kept + text.slice(doneTo);
}
