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
import { placed } from '../document/checked-message.js';
import { readContent } from '../document/read-content.js';
import { readSettingsText, SettingsFields, SettingsFileError } from '../document/settings-file.js';
import { readDateTime } from '../time/local-time.js';
import { type DocumentElement, elementsByName } from '../xml/document-element.js';

/** An expression and the documents it is for; what a criterion leaves out does not matter. */
export interface MappingEntry {
  /** As a rejection names it. */
  name: string;
  /** Lower case, without parameters. */
  contentType?: string;
  /** The source topic, else the one that all documents come by, without the prefix; a `*` stands for any text. */
  topic?: string;
  expression: string;
}

/** An expression, the JSON that it is evaluated on, and what its variables stand for. */
export interface EvaluationRequest {
  expression: string;
  input: string;
  variables: Record<string, string | number | null>;
}

/** The result as JSON, undefined where there is none; or what is wrong, without quoting what it is evaluated on. */
export type Evaluation = { ok: true; json: string | undefined } | { ok: false; fault: string };

/** An evaluator of expressions, within limits of its own. */
export interface Expressions {
  /** Rejects once closed. */
  evaluate(request: EvaluationRequest): Promise<Evaluation>;
  close(): void;
}

/** What is wrong with an expression, and the character where; undefined for one that can be evaluated. */
type ExpressionCheck = (expression: string) => string | undefined;

/**
 * Reads a list of `{name?, contentType?, topic?, expression}` and checks every expression. Throws
 * {@link SettingsFileError}, so that a mistake is known at start and not with the first document.
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
  // a misspelt criterion would make the entry fit every document
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

/** Expressions for formats that have no adapter. They go before the adapters: who names a format means it. */
export class OrderMapping {
  /** @param expressions evaluates the entries' expressions, and is closed with the mapping */
  constructor(
    private readonly entries: readonly MappingEntry[],
    private readonly expressions: Expressions,
  ) {}

  /** By the first entry that is for the document; undefined when it is for the adapters. */
  read(
    document: OrderDocument,
    options: OrderDocumentOptions,
  ): Promise<Parsed<OrderMessage[]>> | undefined {
    const type = mediaType(document.contentType) ?? '';
    const topic = topicOf(document);
    const entry = this.entries.find(
      (each) =>
        (each.contentType === undefined || each.contentType === type) &&
        (each.topic === undefined || matches(each.topic, topic)),
    );
    return entry && readMapped(entry, document, options, this.expressions);
  }

  /** Ends what evaluates; documents that are being read reject. */
  close(): void {
    this.expressions.close();
  }
}

/** The topic of a document, as {@link MappingEntry.topic} is compared with and an expression sees it. */
function topicOf({ sourceTopic }: OrderDocument): string {
  return sourceTopic ?? TOPICS.workOrders;
}

/**
 * Whether a text is like a pattern in which `*` stands for any text. By parts, not by a regular expression: each is
 * looked for once, from where the one before it ended.
 */
export function matches(pattern: string, topic: string): boolean {
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

/** What an expression makes of a document: one canonical order or a list of them, held to the same rules. */
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
    return placed(`mapping ${name}, result${isList ? `[${index}]` : ''}`, checked);
  });
}

type PlantTimes = Pick<ReadingContext, 'timeZone' | 'recordedAt'>;

const WITHOUT_OFFSET = /^\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}:\d{2}(?:\.\d+)?$/;

/** No expression can tell how far the plant's clock is ahead of UTC on a day. What is no such time is left to its reader. */
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
 * A document as an expression sees it. Of XML an element is its text, or an object of its children by name, of
 * its attributes with `@` before the name and of its text as `#text`; what repeats is a list. The root is a
 * field of the outermost object.
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
  // fromEntries defines fields, whatever they are called
  return Object.fromEntries([
    ...fields,
    ...(text === '' ? [] : [['#text', text] as const]),
    ...nested,
  ]);
}
