import { describeJson, isJsonObject, type JsonObject } from '#libs/contracts';

import type { DocumentElement } from '../xml/document-element.js';
import { elementName } from '../xml/element-name.js';

/** Keys that writers of JSON put the text of an element with attributes under. */
const TEXT_KEYS = ['value', '#text', '_', '$', '$value'];

/** Element names that are read, by their lower case: in JSON some write them in camel case. */
const NAMES = new Map(
  [
    'ActionCriteria',
    'ActionExpression',
    'ApplicationArea',
    'Command',
    'CreationDateTime',
    'DataArea',
    'DispatchStatus',
    'EarliestStartTime',
    'EquipmentElementLevel',
    'EquipmentID',
    'EquipmentLevel',
    'EquipmentRequirement',
    'EquipmentRequirementChild',
    'HierarchyScope',
    'HierarchyScopeChild',
    'ID',
    'JobOrder',
    'Location',
    'OperationsRequest',
    'ProcessSegmentID',
    'ProductSegmentID',
    'ProductionRequest',
    'PublishedDate',
    'RequestState',
    'ResponseCriteria',
    'ResponseExpression',
    'ScheduleState',
    'SegmentRequirement',
    'SegmentRequirementChild',
    'SegmentState',
    'StartTime',
    'WorkRequest',
    'actionCode',
  ].map((name) => [name.toLowerCase(), name]),
);

interface BuiltElement extends DocumentElement {
  children: BuiltElement[];
}

/** B2MML in JSON as the elements of its XML: a list is an element that repeats. Numbers are no text: 0010 is not 10. */
export function jsonElement(name: string, json: unknown): DocumentElement {
  return build(name, json, null);
}

function build(name: string, json: unknown, parent: BuiltElement | null): BuiltElement {
  const attributes = isJsonObject(json) ? attributesIn(json) : {};
  const notText = notTextIn(json);
  const element: BuiltElement = {
    name: nameOf(name),
    parent,
    children: [],
    text: textIn(json),
    attributes,
    ...(notText !== undefined && { notText }),
  };
  if (!isJsonObject(json)) return element;
  for (const [key, value] of Object.entries(json)) {
    for (const each of Array.isArray(value) ? (value as unknown[]) : [value]) {
      if (each !== null) element.children.push(build(key, each, element));
    }
  }
  return element;
}

function nameOf(key: string): string {
  return elementName(NAMES.get(key.toLowerCase()) ?? key);
}

/** Under keys of their own, `@name` or `@_name`, or together under `$`, as converters of XML write them. */
function attributesIn(json: JsonObject): Record<string, string> {
  const together = isJsonObject(json['$']) ? Object.entries(json['$']) : [];
  const marked = Object.entries(json).flatMap(([key, value]) =>
    key.startsWith('@') ? [[key.replace(/^@_?/, ''), value] as const] : [],
  );
  return Object.fromEntries(
    [...together, ...marked].flatMap(([name, value]) =>
      typeof value === 'string' ? [[nameOf(name), value]] : [],
    ),
  );
}

function textIn(json: unknown): string {
  if (typeof json === 'string') return json.trim();
  if (!isJsonObject(json)) return '';
  const key = TEXT_KEYS.find((name) => typeof ownValue(json, name) === 'string');
  return key === undefined ? '' : textIn(json[key]);
}

/** What stands where text may; undefined of text, of null, and of an object of nothing but attributes. */
function notTextIn(json: unknown): string | undefined {
  if (typeof json === 'string' || json === null) return undefined;
  if (!isJsonObject(json)) return describeJson(json);
  const values = TEXT_KEYS.map((name) => ownValue(json, name)).filter((value) => value !== null);
  if (values.some((value) => typeof value === 'string')) return undefined;
  const scalar = values.find((value) => value !== undefined && !isJsonObject(value));
  if (scalar !== undefined) return describeJson(scalar);
  return Object.entries(json).some(isContent) ? 'an object' : undefined;
}

function isContent([key, value]: [string, unknown]): boolean {
  return value !== null && key !== '$' && !key.startsWith('@');
}

function ownValue(json: JsonObject, name: string): unknown {
  return Object.hasOwn(json, name) ? json[name] : undefined;
}
