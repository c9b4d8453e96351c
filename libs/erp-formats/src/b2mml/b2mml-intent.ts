import { parsed, rejected, type Parsed } from '#libs/contracts';

import { elements, pathOf, readText, type DocumentElement } from '../xml/document-element.js';
import { NOUN, ordersIn } from './b2mml-document.js';

const VERB = /^(process|sync|show|add|change|respond|cancel|get|acknowledge|confirm)(.+)$/i;
const BELOW_AN_ORDER =
  /(ProductionRequest|OperationsRequest|JobOrder)(\[[^\]]{0,256}\])?\/+[^/\s]/i;

/** What a message wants done with the orders in it. */
export type Intent = 'whole' | 'change' | 'cancel' | 'none';

/**
 * By the verb of the envelope and its action codes, whatever their case; a bare noun is the state of what is
 * in it. Actions that differ from part to part are refused: each would be done to all orders of the message.
 */
export function intentOf(root: DocumentElement): Parsed<Intent> {
  const verb = verbOf(root.name);
  if (verb === 'get' || verb === 'acknowledge' || verb === 'confirm') return parsed('none');
  const actions = actionsOf(root, verb);
  const intent = verb === 'cancel' ? parsed('cancel' as const) : intentOfActions(actions, verb);
  if (!intent.ok) return intent;
  const partial = intent.value === 'cancel' ? deletionOfPart(actions, root) : undefined;
  if (partial === undefined) return intent;
  return rejected('invalid-message', `${pathOf(partial)} deletes a part of what is sent`);
}

function intentOfActions(actions: readonly DocumentElement[], verb: string): Parsed<Intent> {
  const ofVerb = verb === 'change' ? 'change' : 'whole';
  const intents: Intent[] = [];
  for (const action of actions) {
    const code = readCode(action);
    if (!code.ok) return code;
    intents.push(intentOfCode(code.value ?? '') ?? ofVerb);
  }
  const [intent = ofVerb] = intents;
  const other = actions[intents.findIndex((each) => each !== intent)];
  if (other === undefined) return parsed(intent);
  const field = pathOf(other, 'actionCode');
  return rejected('invalid-message', `${field} is another action than the first`);
}

/** What follows the verb is a word of its own: `CancelledJobOrderList` has none. */
function verbOf(name: string): string {
  const [, verb = '', noun = ''] = VERB.exec(name) ?? [];
  const isWord = /^[A-Z]/.test(noun) || NOUN.exec(noun)?.index === 0;
  return isWord ? verb.toLowerCase() : 'sync';
}

function actionsOf(root: DocumentElement, verb: string): DocumentElement[] {
  return elements(root, 'DataArea')
    .flatMap(({ children }) => children.filter(({ name }) => name.toLowerCase() === verb))
    .flatMap((each) => [
      ...childrenIn(each, 'ActionCriteria', 'ActionExpression'),
      ...childrenIn(each, 'ResponseCriteria', 'ResponseExpression'),
    ]);
}

function childrenIn(element: DocumentElement, group: string, name: string): DocumentElement[] {
  return elements(element, group).flatMap((each) => elements(each, name));
}

function readCode(action: DocumentElement): Parsed<string | undefined> {
  const attribute = action.attributes['actionCode'];
  return attribute === undefined ? readText(action, 'actionCode') : parsed(attribute);
}

/** Undefined for `Add`, `Replace`, `Accepted` and none, say: those do what the verb does. */
function intentOfCode(code: string): Intent | undefined {
  // what was asked for is sent back, and is not how the order is
  if (/^reject/i.test(code)) return 'none';
  if (/^delete/i.test(code)) return 'cancel';
  return /^(change|update)/i.test(code) ? 'change' : undefined;
}

/** By their paths: one that picks from several orders, or goes for something within one. */
function deletionOfPart(
  actions: readonly DocumentElement[],
  root: DocumentElement,
): DocumentElement | undefined {
  const hasSeveral = ordersIn(root).length > 1;
  return actions.find(
    ({ text }) => BELOW_AN_ORDER.test(text) || (hasSeveral && text.includes('[')),
  );
}
