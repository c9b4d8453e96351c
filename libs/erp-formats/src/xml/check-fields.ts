import { parsed, rejected, type Parsed } from '#libs/contracts';

import { elements, pathOf, uniqueElement, type DocumentElement } from './document-element.js';

/** Known texts in lower case, and the fault of any other text. */
export interface KnownTexts {
  known: ReadonlyMap<string, unknown>;
  otherwise: string;
}

/** The content of a child: text, elements, or either. A plural may repeat. */
type FieldRule = 'text' | 'texts' | 'element' | 'elements' | 'text or element' | KnownTexts;
type Fields = Readonly<Record<string, FieldRule>>;

/** Children that are read, by the name of their parent. Other children are ignored. */
export type FieldRules = Readonly<Record<string, Fields>>;

/**
 * Refuses fields that would otherwise count as absent: repeated fields, fields that are not text or an unknown text,
 * and text instead of elements. Checks an element and those below it that have rules.
 */
export function checkFields(
  element: DocumentElement,
  rules: FieldRules,
  fields: Fields = rules[element.name] ?? {},
): Parsed<undefined> {
  for (const [name, rule] of Object.entries(fields)) {
    if (rule !== 'texts' && rule !== 'elements') {
      const once = uniqueElement(element, name);
      if (!once.ok) return once;
    }
    for (const child of elements(element, name)) {
      const fault = faultOf(child, rule);
      if (fault !== undefined) return rejected('invalid-message', `${pathOf(child)} ${fault}`);
      const within = checkFields(child, rules);
      if (!within.ok) return within;
    }
  }
  return parsed(undefined);
}

function faultOf(
  { children, text, notText }: DocumentElement,
  rule: FieldRule,
): string | undefined {
  const isLeaf = children.length === 0;
  switch (rule) {
    case 'text':
    case 'texts':
      return noText(notText);
    case 'element':
    case 'elements':
      return isLeaf && (text !== '' || notText !== undefined) ? 'must hold elements' : undefined;
    case 'text or element':
      return isLeaf ? noText(notText) : undefined;
    default: {
      const isKnown = text === '' || rule.known.has(text.toLowerCase());
      return noText(notText) ?? (isKnown ? undefined : `${rule.otherwise}: ${text}`);
    }
  }
}

function noText(notText: string | undefined): string | undefined {
  return notText === undefined ? undefined : `must be text, not ${notText}`;
}
