import {
  isJsonObject,
  MAX_LIST_LENGTH,
  mediaType,
  type OrderMessage,
  parsed,
  type Parsed,
  parsedEach,
  parseOrderMessage,
  rejected,
  TOPICS,
  writeJson,
} from '#libs/contracts';
import type {
  DocumentContent,
  OrderDocument,
  OrderDocumentOptions,
  ReadingContext,
} from '../document/order-format.js';
import { withPath } from '../document/checked-message.js';
import { readContent } from '../document/read-content.js';
import { readSettingsText, SettingsFields, SettingsFileError } from '../document/settings-file.js';
import { readDateTime } from '../time/local-time.js';
import { type DocumentElement, elementsByName } from '../xml/document-element.js';

/** An expression and the documents to which it applies. An absent criterion matches all. */
export interface MappingEntry {
  /** Name in rejections. */
  name: string;
  /** Lower case, without parameters. */
  contentType?: string;
  /** Source topic, else `erp.work-orders.v1`, without the prefix; `*` matches any text. */
  topic?: string;
  expression: string;
}

/** An expression, its input as JSON, and the values of its variables. */
export interface EvaluationRequest {
  expression: string;
  input: string;
  variables: Record<string, string | number | null>;
}

/** The result as JSON, undefined for none; or a fault, which does not quote the input. */
export type Evaluation = { ok: true; json: string | undefined } | { ok: false; fault: string };

/** Evaluates expressions within its limits. */
export interface Expressions {
  /** Rejects once closed. */
  evaluate(request: EvaluationRequest): Promise<Evaluation>;
  closeEvaluator(): void;
}

/** The fault of an expression with its character; undefined for a valid one. */
type ExpressionCheck = (expression: string) => string | undefined;

/**
 * Reads a list of `{name?, contentType?, topic?, expression}` and checks every expression. Throws
 * {@link SettingsFileError}, so that a mistake is reported at the start and not with the first document.
 */
export function parseOrderMapping(
  text: string,
  format: 'json' | 'yaml',
  check: ExpressionCheck,
): MappingEntry[] {
  const content = readSettingsText(text, format, 'the mapping');
  if (!Array.isArray(content) || content.length === 0) {
    throw new SettingsFileError('the mapping must be a list of at least one entry');
  }
  return content.map((entry: unknown, index) => readEntry(entry, index + 1, check));
}

function readEntry(entry: unknown, position: number, check: ExpressionCheck): MappingEntry {
  const where = `entry ${position} of the mapping`;
  const fields = new SettingsFields(entry, where);
  const name = fields.identifier('name') ?? `${position}`;
  const contentType = mediaType(fields.identifier('contentType') ?? null);
  const topic = fields.identifier('topic');
  const expression = fields.value('expression');
  // with a misspelt criterion the entry would match every document
  fields.rejectOthers();
  if (typeof expression !== 'string' || expression.trim() === '') {
    throw new SettingsFileError(`${where} has no expression`);
  }
  const fault = check(expression);
  if (fault !== undefined) throw new SettingsFileError(`${where}, expression: ${fault}`);
  if (contentType === null && topic === undefined) {
    throw new SettingsFileError(
      `${where} says neither contentType nor topic: it is for no document`,
    );
  }
  return {
    ...{ name, expression },
    ...(contentType !== null && { contentType }),
    ...(topic !== undefined && { topic }),
  };
}

/** Expressions for formats without an adapter. They take precedence over adapters, because the operator chose them. */
export class OrderMapping {
  /** @param expressions the evaluator, which the mapping closes */
  constructor(
    private readonly entries: readonly MappingEntry[],
    private readonly expressions: Expressions,
  ) {}

  /** Reads a document with the first entry that matches; undefined where none does. */
  readWithMapping(
    document: OrderDocument,
    options: OrderDocumentOptions,
  ): Promise<Parsed<OrderMessage[]>> | undefined {
    const type = mediaType(document.contentType) ?? '';
    const topic = topicOf(document);
    const entry = this.entries.find(
      (each) =>
        (each.contentType === undefined || each.contentType === type) &&
        (each.topic === undefined || matchesPattern(each.topic, topic)),
    );
    return entry && readMapped(entry, document, options, this.expressions);
  }

  /** Closes the evaluator; reads in progress reject. */
  closeExpressions(): void {
    this.expressions.closeEvaluator();
  }
}

/** The topic for {@link MappingEntry.topic} and the variable of an expression. */
function topicOf({ sourceTopic }: OrderDocument): string {
  return sourceTopic ?? TOPICS.workOrders;
}

/**
 * Matches a text against a pattern in which `*` stands for any text. Searches each part once, after the previous one;
 * a regular expression could take exponential time.
 */
export function matchesPattern(pattern: string, topic: string): boolean {
  const [start = '', ...rest] = pattern.split('*');
  const end = rest.pop();
  if (end === undefined) return pattern === topic;
  if (!topic.startsWith(start)) return false;
  let at = start.length;
  for (const part of rest) {
    const found = topic.indexOf(part, at);
    if (found === -1) return false;
    at = found + part.length;
  }
  return topic.length - end.length >= at && topic.endsWith(end);
}

/** Evaluates an expression: its result is one canonical order or a list of them, checked by the same rules. */
async function readMapped(
  { name, expression }: MappingEntry,
  document: OrderDocument,
  { timeZone }: OrderDocumentOptions,
  expressions: Expressions,
): Promise<Parsed<OrderMessage[]>> {
  const content = readContent(document, new Set([mediaType(document.contentType) ?? '']));
  if (!content.ok) return content;
  const { contentType, recordedAt = null } = document;
  const variables = { contentType, topic: topicOf(document), recordedAt, timeZone };
  const input = writeJson(plainValue(content.value));
  if (input === undefined) {
    return rejected('invalid-message', `mapping ${name}: a number of the document is too large`);
  }
  const evaluation = await expressions.evaluate({ expression, input, variables });
  if (!evaluation.ok) return rejected('invalid-message', `mapping ${name}: ${evaluation.fault}`);
  const result: unknown = JSON.parse(evaluation.json ?? 'null');
  return readResult(name, result, { timeZone, recordedAt: document.recordedAt });
}

function readResult(name: string, result: unknown, times: PlantTimes): Parsed<OrderMessage[]> {
  const isList = Array.isArray(result);
  const orders: unknown[] = isList ? result : [result];
  if (orders.length === 0 || result === null) {
    return rejected('invalid-message', `mapping ${name}: the expression yields nothing`);
  }
  if (orders.length > MAX_LIST_LENGTH) {
    const found = `${orders.length} orders, more than ${MAX_LIST_LENGTH}`;
    return rejected('too-large', `mapping ${name}: the expression yields ${found}`);
  }
  return parsedEach(orders.entries(), ([index, order]): Parsed<OrderMessage> => {
    const checked = parseOrderMessage(inEpochSeconds(order, times));
    if (checked.ok) return parsed({ kind: 'snapshot', order: checked.value });
    return withPath(`mapping ${name}, result${isList ? `[${index}]` : ''}`, checked);
  });
}

type PlantTimes = Pick<ReadingContext, 'timeZone' | 'recordedAt'>;

const WITHOUT_OFFSET = /^\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}:\d{2}(?:\.\d+)?$/;

/** Converts local times, since no expression knows the zone's offset on a day. Leaves other values to the parser. */
function inEpochSeconds(order: unknown, { timeZone, recordedAt }: PlantTimes): unknown {
  if (!isJsonObject(order)) return order;
  const secondsOf = (value: unknown, passedBy?: number): unknown => {
    if (typeof value !== 'string' || !WITHOUT_OFFSET.test(value)) return value;
    const seconds = readDateTime(value, timeZone, passedBy);
    return typeof seconds === 'number' ? seconds : value;
  };
  const operations: unknown = order['operations'];
  return {
    ...order,
    changedAt: secondsOf(order['changedAt'], recordedAt),
    operations: Array.isArray(operations)
      ? operations.map((each: unknown) =>
          isJsonObject(each) ? { ...each, plannedStart: secondsOf(each['plannedStart']) } : each,
        )
      : operations,
  };
}

/**
 * A document as an expression's input. An XML element becomes its text, or an object with its children by name, its
 * attributes with `@` before the name and its text as `#text`; repeated children become a list. The root is a field of
 * the outermost object.
 */
export function plainValue({ json, root }: DocumentContent): unknown {
  return root === undefined ? json : Object.fromEntries([[root.name, plainElement(root)]]);
}

function plainElement(element: DocumentElement): unknown {
  const { children, attributes, text } = element;
  const fields = Object.entries(attributes).map(([name, value]) => [`@${name}`, value] as const);
  if (children.length === 0 && fields.length === 0) return text;
  const nested = [...elementsByName(element)].map(([name, alike]) => {
    const values = alike.map(plainElement);
    return [name, values.length === 1 ? values[0] : values] as const;
  });
  // fromEntries defines own fields, also one named __proto__
  return Object.fromEntries([
    ...fields,
    ...(text === '' ? [] : [['#text', text] as const]),
    ...nested,
  ]);
}
