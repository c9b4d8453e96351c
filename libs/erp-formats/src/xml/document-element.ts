import { parsed, type Parsed, type Refused, rejected } from '#libs/contracts';
import { groupBy } from '../grouping/group-by.js';

/**
 * An element of a document, its name without a namespace prefix. XML is parsed to elements, and JSON of a format that
 * has both, so that the format has one adapter and its rejections have one kind of path.
 */
export interface DocumentElement {
  readonly name: string;
  readonly parent: DocumentElement | null;
  readonly children: readonly DocumentElement[];
  /** Its own text, trimmed. Leading zeros are kept. */
  readonly text: string;
  readonly attributes: Readonly<Record<string, string>>;
  /** The kind of content that is neither text nor empty: `elements`, or from JSON such as `a number`. */
  readonly notText?: string;
  /** Cache of {@link elementsByName}. In a WeakMap it would keep the document until a full garbage collection. */
  childrenByName?: ReadonlyMap<string, readonly DocumentElement[]>;
}

/** An element while its document is read. */
export interface OpenElement extends DocumentElement {
  parent: OpenElement | null;
  children: OpenElement[];
  text: string;
  attributes: Readonly<Record<string, string>>;
  notText?: string;
}

/** With more children an index by name is built: each of ten thousand orders reads the date of its schedule. */
const MANY_CHILDREN = 50;

/** Child elements of a name, in document order. */
export function elements(parent: DocumentElement, name: string): readonly DocumentElement[] {
  if (parent.children.length > MANY_CHILDREN) return elementsByName(parent).get(name) ?? [];
  return parent.children.filter((child) => child.name === name);
}

/** All child elements by name, in order of the first of each name. */
export function elementsByName(
  parent: DocumentElement,
): ReadonlyMap<string, readonly DocumentElement[]> {
  return (parent.childrenByName ??= groupBy(parent.children, ({ name }) => name));
}

/** The child with a name; undefined where there are several. */
export function onlyElement(parent: DocumentElement, name: string): DocumentElement | undefined {
  const found = soleElement(parent, name);
  return found === 'twice' ? undefined : found;
}

/** Finds a child without building a list: a document has thousands of fields, most of them absent or single. */
function soleElement(parent: DocumentElement, name: string): DocumentElement | 'twice' | undefined {
  const { children } = parent;
  let sole: DocumentElement | undefined;
  for (const child of children.length > MANY_CHILDREN ? elements(parent, name) : children) {
    if (child.name !== name) continue;
    if (sole !== undefined) return 'twice';
    sole = child;
  }
  return sole;
}

/** Like {@link onlyElement}, but refuses a repeated child, whose value would otherwise be ignored. */
export function uniqueElement(
  parent: DocumentElement,
  name: string,
): Parsed<DocumentElement | undefined> {
  const found = soleElement(parent, name);
  if (found !== 'twice') return parsed(found);
  return rejected('invalid-message', `${pathOf(parent, name)} is given twice`);
}

/** Text of a child that is not repeated; undefined when absent or empty. */
export function textOf(parent: DocumentElement, name: string): string | undefined {
  const text = onlyElement(parent, name)?.text ?? '';
  return text === '' ? undefined : text;
}

/** Like {@link textOf}, but refuses a child that is repeated or not text. */
export function readText(parent: DocumentElement, name: string): Parsed<string | undefined> {
  const found = uniqueElement(parent, name);
  if (!found.ok) return found;
  const { notText, text = '' } = found.value ?? {};
  if (notText !== undefined) {
    return rejected('invalid-message', `${pathOf(parent, name)} must be text, not ${notText}`);
  }
  return parsed(text === '' ? undefined : text);
}

/** The path of a field for a rejection: `/LOIPRO05/IDOC[2]/E1AFKOL/AUFNR`. */
export function pathOf(element: DocumentElement, ...fields: string[]): string {
  const steps = [...fields];
  for (let at: DocumentElement | null = element; at !== null; at = at.parent) {
    steps.unshift(`${at.name}${positionOf(at)}`);
  }
  return `/${steps.join('/')}`;
}

export function missing(element: DocumentElement, ...fields: string[]): Refused {
  return rejected('invalid-message', `${pathOf(element, ...fields)} is missing`);
}

/** Position among siblings of the same name, from 1 as in XPath; empty for a single one. */
function positionOf(element: DocumentElement): string {
  const alike = element.parent === null ? [] : elements(element.parent, element.name);
  return alike.length > 1 ? `[${alike.indexOf(element) + 1}]` : '';
}

/** B2MML V0701 has its own names for elements nested in elements of the same kind; up to V06 both had one name. */
const NESTED = new Map([
  ['EquipmentRequirementChild', 'EquipmentRequirement'],
  ['HierarchyScopeChild', 'HierarchyScope'],
  ['SegmentRequirementChild', 'SegmentRequirement'],
]);

/** The name of an element in rules and paths, for all releases. */
export function elementName(written: string): string {
  return written.endsWith('Child') ? (NESTED.get(written) ?? written) : written;
}
