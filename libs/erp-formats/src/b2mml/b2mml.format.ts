import {
  type OperationChange,
  type OrderChange,
  type OrderMessage,
  type OrderOperation,
  type OrderStatus,
  parsed,
  type Parsed,
  parsedEach,
  rejected,
} from '#libs/contracts';
import type { DocumentContent, OrderFormat, ReadingContext } from '../document/order-format.js';
import {
  type DocumentElement,
  elements,
  missing,
  pathOf,
  readText,
  uniqueElement,
} from '../xml/document-element.js';
import { changeMessage, snapshotMessage } from '../document/checked-message.js';
import { b2mmlRoot, checkB2mml, isB2mml, NOUN, ordersIn } from './b2mml-document.js';
import { readDateTimeField } from './b2mml-time.js';
import { readB2mmlOperations } from './b2mml-operations.js';
import { statusOfOrder } from './b2mml-status.js';

/** B2MML V04 to V07 in XML or JSON. Orders that a message does not name are unchanged. */
export const b2mml: OrderFormat = {
  name: 'B2MML schedules and job orders',
  mediaTypes: ['application/b2mml+xml', 'application/b2mml+json'],
  recognises: isB2mml,
  readMessages: readB2mml,
};

function readB2mml(content: DocumentContent, context: ReadingContext): Parsed<OrderMessage[]> {
  const root = b2mmlRoot(content);
  if (root === undefined) return rejected('invalid-message', 'the root is none of B2MML');
  const found = intentOf(root);
  if (!found.ok) return found;
  const intent = found.value;
  if (intent === 'none') {
    return rejected(
      'invalid-message',
      `${pathOf(root)} asks, answers or rejects, it changes no order`,
    );
  }
  const orders = ordersIn(root);
  // of a cancelled order only the ID is read
  const checked = intent === 'cancel' ? parsed(undefined) : checkB2mml(orders);
  if (!checked.ok) return checked;
  const { timeZone } = context;
  const madeAt = readMadeAt(root, context);
  const messages = parsedEach(orders, (order) => {
    const changedAt = readChangedAt(order, madeAt, context);
    if (!changedAt.ok) return changedAt;
    return readB2mmlOrder(order, { changedAt: changedAt.value, timeZone, intent });
  });
  if (!messages.ok || messages.value.length > 0) return messages;
  return rejected('invalid-message', `${pathOf(root)} has no request and no job order`);
}

/** The nearest PublishedDate, else the time of the message. */
function readChangedAt(
  order: DocumentElement,
  madeAt: Parsed<number>,
  { timeZone, recordedAt }: ReadingContext,
): Parsed<number> {
  for (let at: DocumentElement | null = order; at !== null; at = at.parent) {
    const published = readDateTimeField(at, 'PublishedDate', timeZone, recordedAt);
    if (!published.ok) return published;
    if (published.value !== undefined) return parsed(published.value);
  }
  return madeAt;
}

/** CreationDateTime of the message, else the time of its record. */
function readMadeAt(
  root: DocumentElement,
  { timeZone, recordedAt }: ReadingContext,
): Parsed<number> {
  const area = uniqueElement(root, 'ApplicationArea');
  if (!area.ok) return area;
  const created =
    area.value && readDateTimeField(area.value, 'CreationDateTime', timeZone, recordedAt);
  if (created?.ok === false) return created;
  const changedAt = created?.value ?? recordedAt;
  if (changedAt !== undefined) return parsed(changedAt);
  const path = pathOf(root, 'ApplicationArea', 'CreationDateTime');
  return rejected('invalid-message', `${path} is missing, and so is a PublishedDate`);
}

interface B2mmlOrderContext {
  changedAt: number;
  timeZone: string;
  intent: Exclude<Intent, 'none'>;
}

/**
 * Reads a production request, operations request or job order. Without operations it changes only the status. The
 * operations of a job order have its status, also in a change: they have none of their own.
 */
function readB2mmlOrder(
  order: DocumentElement,
  { changedAt, timeZone, intent }: B2mmlOrderContext,
): Parsed<OrderMessage> {
  const where = () => pathOf(order);
  const id = readText(order, 'ID');
  if (!id.ok) return id;
  const orderId = id.value;
  if (orderId === undefined) return missing(order, 'ID');
  if (intent === 'cancel') return changeMessage(where, { orderId, changedAt, status: 'cancelled' });
  const status = statusOfOrder(order);
  const found = readB2mmlOperations(order, timeZone);
  if (!found.ok) return found;
  const { operations, replaces } = found.value;
  if (operations.length === 0) {
    if (status !== undefined) return changeMessage(where, { orderId, changedAt, status });
    if (intent === 'change' && found.value.states.length > 0)
      return changeMessage(where, { orderId, changedAt, operations: found.value.states });
    const field = pathOf(order, 'EquipmentRequirement', 'EquipmentID');
    return rejected('invalid-message', `${field} is missing, and so is a status`);
  }
  if (intent === 'change') {
    const change: OrderChange = { orderId, changedAt, operations, replaces };
    if (status === undefined) return changeMessage(where, change);
    const ofOperations = order.name === 'JobOrder' ? withStatus(operations, status) : operations;
    return changeMessage(where, { ...change, status, operations: ofOperations });
  }
  // a schedule without the optional state is meant to be executed; one that is not says Forecast
  const ofOrder = status ?? 'released';
  return snapshotMessage(where, {
    orderId,
    changedAt,
    status: ofOrder,
    operations: withStatus(operations, ofOrder),
  });
}

/** Sets the status of operations that have none. */
function withStatus(operations: readonly OperationChange[], status: OrderStatus): OrderOperation[] {
  return operations.map((operation) => ({ status, ...operation }));
}

const VERB = /^(process|sync|show|add|change|respond|cancel|get|acknowledge|confirm)(.+)$/i;
const BELOW_AN_ORDER =
  /(ProductionRequest|OperationsRequest|JobOrder)(\[[^\]]{0,256}\])?\/+[^/\s]/i;

/** The action that a message requests for its orders. */
type Intent = 'whole' | 'change' | 'cancel' | 'none';

/**
 * The intent by the verb of the envelope and its action codes, in any case; a noun without a verb has whole orders.
 * Refuses different actions in one message, because each would apply to all its orders.
 */
function intentOf(root: DocumentElement): Parsed<Intent> {
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

/** The verb before a separate word: `CancelledJobOrderList` has no verb. */
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

/** Undefined where the verb alone decides, as for `Add`, `Replace`, `Accepted` or no code. */
function intentOfCode(code: string): Intent | undefined {
  // a rejection returns the request, not the order's state
  if (/^reject/i.test(code)) return 'none';
  if (/^delete/i.test(code)) return 'cancel';
  return /^(change|update)/i.test(code) ? 'change' : undefined;
}

/** The action whose path selects some of several orders, or an element within an order. */
function deletionOfPart(
  actions: readonly DocumentElement[],
  root: DocumentElement,
): DocumentElement | undefined {
  const hasSeveral = ordersIn(root).length > 1;
  return actions.find(
    ({ text }) => BELOW_AN_ORDER.test(text) || (hasSeveral && text.includes('[')),
  );
}
