import { groupBy } from '../xml/group-by.js';
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
  const nested = [...groupBy(children, ({ name }) => name)].map(([name, alike]) => {
    const values = alike.map(plainElement);
    return [name, values.length === 1 ? values[0] : values] as const;
  });
  // fromEntries defines fields, whatever they are called
  return Object.fromEntries([
    ...fields,
    ...(text === '' ? [] : [['#text', text] as const]),
    ...nested,
  ]);
}
