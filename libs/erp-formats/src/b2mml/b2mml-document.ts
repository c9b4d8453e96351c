import {
  describeJson,
  field,
  isJsonObject,
  type JsonObject,
  parsed,
  type Parsed,
} from '#libs/contracts';
import type { DocumentContent } from '../document/order-format.js';
import { type DocumentElement, elementName, type OpenElement } from '../xml/document-element.js';
import { checkFields, type FieldRules } from '../xml/check-fields.js';
import { COMMAND, STATE } from './b2mml-status.js';

/** The end of a root's name. */
export const NOUN =
  /(Production|Operations|Work)Schedule$|(Production|Operations|Work)Request$|JobOrder$|JobOrderList$|JobList$/i;
const ORDERS = new Set(['ProductionRequest', 'OperationsRequest', 'JobOrder']);

export function isB2mml(content: DocumentContent): boolean {
  return rootsIn(content).length > 0;
}

function rootsIn({ json, root }: DocumentContent): string[] {
  const names = root === undefined ? Object.keys(objectOf(json)) : [root.name];
  return names.filter((name) => NOUN.test(name));
}

function objectOf(json: unknown): JsonObject {
  return isJsonObject(json) ? json : {};
}

/** The document as elements; undefined where its root is not one of B2MML. */
export function b2mmlRoot(content: DocumentContent): DocumentElement | undefined {
  const [only, ...others] = rootsIn(content);
  if (only === undefined) return undefined;
  if (content.root !== undefined) return content.root;
  const json = objectOf(content.json);
  return others.length === 0 && !Array.isArray(json[only])
    ? buildElement(only, json[only], null)
    : buildElement('document', json, null);
}

/** The orders at any depth: in a schedule, in a request, in a list, or the root itself. */
export function ordersIn(element: DocumentElement): DocumentElement[] {
  return ORDERS.has(element.name) ? [element] : element.children.flatMap(ordersIn);
}

const STATES = {
  DispatchStatus: STATE,
  RequestState: STATE,
  SegmentState: STATE,
  ScheduleState: STATE,
};
/** May be plain text instead, a display name that identifies no equipment. */
const SCOPES = { HierarchyScope: 'text or element', Location: 'text or element' } as const;
const REQUIRED = { EquipmentRequirement: 'elements', SegmentRequirement: 'elements' } as const;

const ABOVE_ORDERS = { ...STATES, ...SCOPES } as const;
const ORDER = {
  ...ABOVE_ORDERS,
  ...REQUIRED,
  ID: 'text',
  Command: COMMAND,
  StartTime: 'text',
} as const;
const LEVEL = { EquipmentElementLevel: 'text', EquipmentLevel: 'text' } as const;
const SCOPE = { ...SCOPES, ...LEVEL, EquipmentID: 'text' } as const;

const RULES: FieldRules = {
  ProductionRequest: ORDER,
  OperationsRequest: ORDER,
  JobOrder: ORDER,
  SegmentRequirement: {
    ...STATES,
    ...SCOPES,
    ...REQUIRED,
    ID: 'text',
    ProcessSegmentID: 'text',
    ProductSegmentID: 'text',
    EarliestStartTime: 'text',
  },
  EquipmentRequirement: {
    ...SCOPES,
    EquipmentID: 'texts',
    EquipmentLevel: 'text or element',
    EquipmentRequirement: 'elements',
  },
  EquipmentLevel: LEVEL,
  HierarchyScope: SCOPE,
  Location: SCOPE,
};

/**
 * Refuses repeated or malformed fields of orders and of the elements above them. Checks an element above ten thousand
 * orders once.
 */
export function checkB2mml(orders: readonly DocumentElement[]): Parsed<undefined> {
  const above = new Set<DocumentElement>();
  for (const { parent } of orders) {
    for (let at = parent; at !== null && !above.has(at); at = at.parent) above.add(at);
  }
  for (const element of above) {
    const checked = checkFields(element, RULES, ABOVE_ORDERS);
    if (!checked.ok) return checked;
  }
  for (const order of orders) {
    const checked = checkFields(order, RULES);
    if (!checked.ok) return checked;
  }
  return parsed(undefined);
}

/** Keys for the text of an element with attributes, in JSON from various converters. */
const TEXT_KEYS = ['value', '#text', '_', '$', '$value'];

/** Element names that are read, by lower case: some senders write camel case in JSON. */
const NAMES = new Map(
  [
    ...['ApplicationArea', 'CreationDateTime', 'PublishedDate', 'DataArea', 'Location'],
    ...[
      'ActionCriteria',
      'ActionExpression',
      'ResponseCriteria',
      'ResponseExpression',
      'actionCode',
    ],
    ...['OperationsRequest', 'ProductionRequest', 'WorkRequest', 'JobOrder', 'ID', 'Command'],
    ...['SegmentRequirement', 'SegmentRequirementChild', 'ProcessSegmentID', 'ProductSegmentID'],
    ...['DispatchStatus', 'RequestState', 'ScheduleState', 'SegmentState'],
    ...['EarliestStartTime', 'StartTime', 'HierarchyScope', 'HierarchyScopeChild'],
    ...['EquipmentRequirement', 'EquipmentRequirementChild', 'EquipmentID'],
    ...['EquipmentLevel', 'EquipmentElementLevel'],
  ].map((name) => [name.toLowerCase(), name]),
);

/**
 * Converts B2MML in JSON to the elements of its XML. A list is a repeated element. Numbers are not text: 0010 is not
 * 10.
 */
function buildElement(name: string, json: unknown, parent: OpenElement | null): OpenElement {
  const element: OpenElement = {
    name: nameOf(name),
    parent,
    children: [],
    text: '',
    attributes: NO_ATTRIBUTES,
  };
  if (typeof json === 'string') element.text = json.trim();
  else if (isJsonObject(json)) readObject(element, json);
  else if (json !== null) element.notText = describeJson(json);
  return element;
}

/** Adds an object's members in one pass, because a large document has thousands of objects. */
function readObject(element: OpenElement, json: JsonObject): void {
  let isMarked = false;
  let hasContent = false;
  let hasText = false;
  for (const key of Object.keys(json)) {
    const value = json[key];
    if (key === '$' || key.startsWith('@')) isMarked = true;
    else if (value !== null) hasContent = true;
    if (TEXT_KEYS.includes(key)) hasText = true;
    for (const each of Array.isArray(value) ? (value as unknown[]) : [value]) {
      if (each !== null) element.children.push(buildElement(key, each, element));
    }
  }
  if (isMarked) element.attributes = attributesIn(json);
  if (hasText) readText(element, json, hasContent);
  else if (hasContent) element.notText = 'an object';
}

/** Reads the text of an object, or notes what it has instead. An object with only attributes has neither. */
function readText(element: OpenElement, json: JsonObject, hasContent: boolean): void {
  let scalar: unknown;
  for (const name of TEXT_KEYS) {
    const value = field(json, name);
    if (typeof value === 'string') {
      element.text = value.trim();
      return;
    }
    if (scalar === undefined && value !== null && !isJsonObject(value)) scalar = value;
  }
  if (scalar !== undefined) element.notText = describeJson(scalar);
  else if (hasContent) element.notText = 'an object';
}

/** A cache, bounded against hostile documents: the same few keys occur again and again. */
const elementNames = new Map<string, string>();
const MOST_ELEMENT_NAMES = 1000;

function nameOf(key: string): string {
  const known = elementNames.get(key);
  if (known !== undefined) return known;
  const name = elementName(NAMES.get(key.toLowerCase()) ?? key);
  if (elementNames.size < MOST_ELEMENT_NAMES && key.length < 100) elementNames.set(key, name);
  return name;
}

const NO_ATTRIBUTES: Readonly<Record<string, string>> = {};

/** Converters from XML write attributes as `@name` or `@_name`, or all of them under `$`. */
function attributesIn(json: JsonObject): Readonly<Record<string, string>> {
  const together = isJsonObject(json['$']) ? Object.entries(json['$']) : [];
  const marked = Object.keys(json)
    .filter((key) => key.startsWith('@'))
    .map((key) => [key.replace(/^@_?/, ''), json[key]] as const);
  return Object.fromEntries(
    [...together, ...marked].flatMap(([name, value]) =>
      typeof value === 'string' ? [[nameOf(name), value]] : [],
    ),
  );
}
