import { isJsonObject } from '#libs/contracts';

import type { DocumentContent } from '../order-format.js';
import { elements, textOf, type DocumentElement } from '../xml/document-element.js';
import { jsonElement } from './json-elements.js';

const NOUN =
  /(Production|Operations|Work)Schedule$|(Production|Operations|Work)Request$|JobOrder$|JobOrderList$|JobList$/i;
const VERB = /^(Process|Sync|Show|Add|Change|Respond|Cancel|Get|Acknowledge|Confirm)(?=[A-Z])/;
const ORDERS = new Set(['ProductionRequest', 'OperationsRequest', 'JobOrder']);

/** What a message wants done with the orders in it. */
export type Intent = 'whole' | 'change' | 'cancel' | 'none';

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

/** By the verb of the envelope and its action code; a bare noun is the state of what is in it. */
export function intentOf(root: DocumentElement): Intent {
  const verb = VERB.exec(root.name)?.[1] ?? 'Sync';
  const actions = elements(root, 'DataArea')
    .flatMap((area) => elements(area, verb))
    .flatMap((each) => elements(each, 'ActionCriteria'))
    .flatMap((criteria) => elements(criteria, 'ActionExpression'))
    .map((expression) => expression.attributes['actionCode'] ?? textOf(expression, 'actionCode'));
  if (verb === 'Get' || verb === 'Acknowledge' || verb === 'Confirm') return 'none';
  if (verb === 'Cancel' || actions.some((code) => /^delete/i.test(code ?? ''))) return 'cancel';
  return verb === 'Change' || actions.some((code) => /^(change|update)/i.test(code ?? ''))
    ? 'change'
    : 'whole';
}
