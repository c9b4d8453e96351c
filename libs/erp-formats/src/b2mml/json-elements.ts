import { isJsonObject } from '#libs/contracts';

import type { DocumentElement } from '../xml/document-element.js';

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
    'HierarchyScope',
    'ID',
    'JobOrder',
    'Location',
    'OperationsRequest',
    'ProcessSegmentID',
    'ProductSegmentID',
    'ProductionRequest',
    'PublishedDate',
    'RequestState',
    'ScheduleState',
    'SegmentRequirement',
    'SegmentState',
    'StartTime',
    'WorkRequest',
  ].map((name) => [name.toLowerCase(), name]),
);

interface BuiltElement extends DocumentElement {
  children: BuiltElement[];
}

/** B2MML in JSON as the elements of its XML: a list is an element that repeats. Numbers are no text. */
export function jsonElement(name: string, json: unknown): DocumentElement {
  return build(name, json, null);
}

function build(name: string, json: unknown, parent: BuiltElement | null): BuiltElement {
  const attributes: Record<string, string> = {};
  const element: BuiltElement = {
    name: NAMES.get(name.toLowerCase()) ?? name,
    parent,
    children: [],
    text: textIn(json),
    attributes,
  };
  if (!isJsonObject(json)) return element;
  for (const [key, value] of Object.entries(json)) {
    if (key.startsWith('@') && typeof value === 'string') attributes[key.slice(1)] = value;
    for (const each of Array.isArray(value) ? (value as unknown[]) : [value]) {
      if (each !== null) element.children.push(build(key, each, element));
    }
  }
  return element;
}

function textIn(json: unknown): string {
  if (typeof json === 'string') return json.trim();
  if (!isJsonObject(json)) return '';
  const key = TEXT_KEYS.find((name) => Object.hasOwn(json, name) && typeof json[name] === 'string');
  return key === undefined ? '' : textIn(json[key]);
}
