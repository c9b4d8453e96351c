import { onlyElement, type DocumentElement } from './document-element.js';

/** What a SOAP envelope carries, where a document comes in one; otherwise the document. */
export function unwrapSoap(root: DocumentElement): DocumentElement {
  if (root.name !== 'Envelope') return root;
  const content = onlyElement(root, 'Body')?.children ?? [];
  return content.length === 1 && content[0] !== undefined ? content[0] : root;
}
