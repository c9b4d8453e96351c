import type { DocumentContent } from '../order-format.js';
import type { DocumentElement } from '../xml/document-element.js';

/**
 * A document as an expression sees it. Of XML an element is its text, or an object of its children by name, of
 * its attributes with `@` before the name and of its text as `#text`; what repeats is a list. The root is a
 * field of the outermost object.
 */
export function plainValue(content: DocumentContent): unknown {
  if (content.syntax === 'json') return content.value;
  return Object.fromEntries([[content.root.name, plainElement(content.root)]]);
}

function plainElement({ children, attributes, text }: DocumentElement): unknown {
  const fields = Object.entries(attributes).map(([name, value]) => [`@${name}`, value] as const);
  if (children.length === 0 && fields.length === 0) return text;
  const byName = new Map<string, unknown[]>();
  for (const child of children) {
    const alike = byName.get(child.name) ?? [];
    alike.push(plainElement(child));
    byName.set(child.name, alike);
  }
  const nested = [...byName].map(([name, all]) => [name, all.length === 1 ? all[0] : all] as const);
  // fromEntries defines fields, whatever they are called
  return Object.fromEntries([
    ...fields,
    ...(text === '' ? [] : [['#text', text] as const]),
    ...nested,
  ]);
}
