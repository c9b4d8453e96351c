import { isJsonObject } from '#libs/contracts';

import type { DocumentContent } from '../document/order-format.js';
import type { DocumentElement } from '../xml/document-element.js';
import { jsonElement } from './json-elements.js';

/** How the names of roots end. */
export const NOUN =
  /(Production|Operations|Work)Schedule$|(Production|Operations|Work)Request$|JobOrder$|JobOrderList$|JobList$/i;
const ORDERS = new Set(['ProductionRequest', 'OperationsRequest', 'JobOrder']);

/** The document as elements, or undefined when its root is none of B2MML. */
export function b2mmlRoot(content: DocumentContent): DocumentElement | undefined {
  if (content.syntax === 'xml') return NOUN.test(content.root.name) ? content.root : undefined;
  const { value } = content;
  if (!isJsonObject(value)) return undefined;
  const nouns = Object.keys(value).filter((key) => NOUN.test(key));
  const [only] = nouns;
  if (only === undefined) return undefined;
  const isList = Array.isArray(value[only]);
  return nouns.length === 1 && !isList
    ? jsonElement(only, value[only])
    : jsonElement('document', value);
}

/** Orders wherever they are: in a schedule, in a request within it, in a list, or the root itself. */
export function ordersIn(element: DocumentElement): DocumentElement[] {
  return ORDERS.has(element.name) ? [element] : element.children.flatMap(ordersIn);
}
