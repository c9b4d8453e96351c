/** A text with one layer of escapes undone, and where in the original its characters stand. */
export interface TextView {
  readonly text: string;
  /** Where the character at this index begins in the original. */
  sourceIndex(index: number): number;
}

/** JSON and JavaScript, URLs, HTML; each alternative is bounded, so that reading takes linear time. */
const ESCAPE =
  /\\(?:u00([0-9a-f]{2})|x([0-9a-f]{2})|(["'/\\]))|%([0-9a-f]{2})|&(?:#0{0,6}(\d{1,3})|#x0{0,6}([0-9a-f]{1,2})|([a-z]{2,6}));/gi;

/** Of the printable characters of ASCII, those that HTML has a name for; a few have two. */
const NAMED: Readonly<Record<string, string>> = {
  ...{ amp: '&', lt: '<', gt: '>', quot: '"', apos: "'", plus: '+', sol: '/', equals: '=' },
  ...{ period: '.', lowbar: '_', colon: ':', comma: ',', semi: ';', excl: '!', num: '#' },
  ...{ dollar: '$', percnt: '%', lpar: '(', rpar: ')', ast: '*', midast: '*', quest: '?' },
  ...{ commat: '@', lsqb: '[', lbrack: '[', bsol: '\\', rsqb: ']', rbrack: ']', hat: '^' },
  ...{ grave: '`', lcub: '{', lbrace: '{', verbar: '|', vert: '|', rcub: '}', rbrace: '}' },
};

export function viewOf(text: string): TextView {
  return { text, sourceIndex: (index) => index };
}

/** Undoes each escape of an ASCII character once; undefined where there is none. */
export function decodeOnce(view: TextView): TextView | undefined {
  const shifts = new Shifts();
  let shorterBy = 0;
  const text = view.text.replace(ESCAPE, (escape: string, ...found: unknown[]) => {
    const decoded = decodedFrom(found.slice(0, 7) as (string | undefined)[]);
    if (decoded === undefined) return escape;
    const at = (found[7] as number) - shorterBy;
    shorterBy += escape.length - 1;
    shifts.add(at + 1, shorterBy);
    return decoded;
  });
  if (shorterBy === 0) return undefined;
  return { text, sourceIndex: (index) => view.sourceIndex(index + shifts.at(index)) };
}

function decodedFrom(groups: readonly (string | undefined)[]): string | undefined {
  const [unicode, hex, literal, percent, decimal, htmlHex, name] = groups;
  if (literal !== undefined) return literal;
  if (name !== undefined) return NAMED[name.toLowerCase()];
  const digits = unicode ?? hex ?? percent ?? htmlHex;
  const code = digits === undefined ? Number(decimal) : Number.parseInt(digits, 16);
  return code < 128 ? String.fromCharCode(code) : undefined;
}

/** By how much the characters of a shortened text stand further back in the original, from each index on. */
class Shifts {
  private readonly from: number[] = [];
  private readonly by: number[] = [];

  add(from: number, by: number): void {
    this.from.push(from);
    this.by.push(by);
  }

  at(index: number): number {
    let [low, high] = [0, this.from.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.from[middle] ?? Infinity) <= index) low = middle + 1;
      else high = middle;
    }
    return this.by[low - 1] ?? 0;
  }
}
