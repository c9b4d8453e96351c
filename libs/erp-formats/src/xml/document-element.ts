import { parsed, type Parsed, rejected } from '#libs/contracts';

/**
 * An element of a document, its name without a namespace prefix. XML and, where a format is written in both,
 * JSON are read into it, so that a format has one adapter and a rejection one way to say where.
 */
export interface DocumentElement {
  readonly name: string;
  readonly parent: DocumentElement | null;
  readonly children: readonly DocumentElement[];
  /** Its own text, trimmed: as it is written, for leading zeros carry meaning. */
  readonly text: string;
  readonly attributes: Readonly<Record<string, string>>;
  /** What it holds where that is no text and not empty: `elements`, or of JSON such as `a number`. */
  readonly notText?: string;
  /** Made by {@link elementsByName}. In a WeakMap it would keep the document until the whole heap is collected. */
  childrenByName?: ReadonlyMap<string, readonly DocumentElement[]>;
}

/** Above it children are looked up by name: a schedule of ten thousand orders is asked for its date by each. */
const MANY_CHILDREN = 50;

/** Child elements of a name, in document order. */
export function elements(parent: DocumentElement, name: string): readonly DocumentElement[] {
  if (parent.children.length > MANY_CHILDREN) return elementsByName(parent).get(name) ?? [];
  return parent.children.filter((child) => child.name === name);
}

/** All child elements, by name in the order of their first ones. */
export function elementsByName(
  parent: DocumentElement,
): ReadonlyMap<string, readonly DocumentElement[]> {
  if (parent.childrenByName !== undefined) return parent.childrenByName;
  const index = new Map<string, DocumentElement[]>();
  for (const child of parent.children) {
    const alike = index.get(child.name);
    if (alike === undefined) index.set(child.name, [child]);
    else alike.push(child);
  }
  parent.childrenByName = index;
  return index;
}

/** The child of a name that occurs once; of two neither is chosen. */
export function onlyElement(parent: DocumentElement, name: string): DocumentElement | undefined {
  const found = soleElement(parent, name);
  return found === 'twice' ? undefined : found;
}

/** A document has thousands of fields, most of them absent or there once: no list is made for one. */
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

/** The same, refusing two: taken for none, they would leave out what the sender said twice. */
export function unlessTwice(
  parent: DocumentElement,
  name: string,
): Parsed<DocumentElement | undefined> {
  const found = soleElement(parent, name);
  if (found !== 'twice') return parsed(found);
  return rejected('invalid-message', `${pathOf(parent, name)} is given twice`);
}

/** Text of a child that occurs once; undefined when absent or empty. */
export function textOf(parent: DocumentElement, name: string): string | undefined {
  const text = onlyElement(parent, name)?.text ?? '';
  return text === '' ? undefined : text;
}

/** The same, refusing a child that is given twice or is no text. */
export function readText(parent: DocumentElement, name: string): Parsed<string | undefined> {
  const found = unlessTwice(parent, name);
  if (!found.ok) return found;
  const { notText, text = '' } = found.value ?? {};
  if (notText !== undefined) {
    return rejected('invalid-message', `${pathOf(parent, name)} must be text, not ${notText}`);
  }
  return parsed(text === '' ? undefined : text);
}

/** Where a field of an element is, for a rejection: `/LOIPRO05/IDOC[2]/E1AFKOL/AUFNR`. */
export function pathOf(element: DocumentElement, ...fields: string[]): string {
  const steps = [...fields];
  for (let at: DocumentElement | null = element; at !== null; at = at.parent) {
    steps.unshift(`${at.name}${positionOf(at)}`);
  }
  return `/${steps.join('/')}`;
}

/** Counted from 1 among its like, and left out where it is the only one, as in XPath. */
function positionOf(element: DocumentElement): string {
  const alike = element.parent === null ? [] : elements(element.parent, element.name);
  return alike.length > 1 ? `[${alike.indexOf(element) + 1}]` : '';
}

/** What B2MML V0701 calls an element nested in its like; up to V06 it had the name of what it stands in. */
const NESTED = new Map([
  ['EquipmentRequirementChild', 'EquipmentRequirement'],
  ['HierarchyScopeChild', 'HierarchyScope'],
  ['SegmentRequirementChild', 'SegmentRequirement'],
]);

/** The name an element is read by, whichever release wrote it: rules and paths have one for all of them. */
export function elementName(written: string): string {
  return written.endsWith('Child') ? (NESTED.get(written) ?? written) : written;
}
