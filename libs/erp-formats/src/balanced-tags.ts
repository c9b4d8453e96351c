/** A comment, CDATA, instruction or declaration, else a tag: slash, name, attributes, slash of an empty one. */
const MARKUP =
  /<!--[^]*?-->|<!\[CDATA\[[^]*?\]\]>|<\?[^]*?\?>|<(\/?)([^\s<>/"'=!?]+)((?:[^<>"'/]|\/(?!>)|"[^"]*"|'[^']*')*)(\/?)>/y;

/**
 * Whether every tag is closed, in order, within one root. The parser itself forgives what is missing, and
 * an order cut off in the middle would look like one with fewer operations.
 */
export function hasBalancedTags(xml: string, maxDepth: number): boolean {
  const open: string[] = [];
  let roots = 0;
  let at = 0;
  while (at < xml.length) {
    const next = xml.indexOf('<', at);
    const textEnd = next === -1 ? xml.length : next;
    if (open.length === 0 && xml.slice(at, textEnd).trim() !== '') return false;
    if (next === -1) break;
    MARKUP.lastIndex = next;
    const match = MARKUP.exec(xml);
    if (match === null) return false;
    at = MARKUP.lastIndex;
    const [, slash, name, , empty] = match;
    if (name === undefined) continue;
    if (slash === '/') {
      if (open.pop() !== name) return false;
    } else {
      if (open.length === 0) roots += 1;
      if (empty !== '/') open.push(name);
    }
    if (roots > 1 || open.length > maxDepth) return false;
  }
  return roots === 1 && open.length === 0;
}
