import { parsed, type OrderOperation, type Parsed } from '#libs/contracts';

import { elements, textOf, type XmlElement } from './read-xml.js';
import { readWithSubOperations, type OrderFrame } from './sap-operation.js';

/**
 * Operations (E1AFVOL) of all sequences (E1AFFLL) in document order, each followed by those of its
 * sub-operations (E1AFUVL) that are done at another work centre; the rest are part of their operation.
 */
export function readSapOperations(
  sequences: readonly XmlElement[],
  frame: OrderFrame,
): Parsed<OrderOperation[]> {
  const operations: OrderOperation[] = [];
  const taken = new Set<string>();
  for (const sequence of sequences) {
    for (const segment of elements(sequence, 'E1AFVOL')) {
      const found = readWithSubOperations(segment, frame);
      if (!found.ok) return found;
      for (const operation of found.value) {
        const operationId = idWithin(sequence, operation.operationId, taken);
        taken.add(operationId);
        operations.push({ ...operation, operationId });
      }
    }
  }
  return parsed(operations);
}

/** A parallel sequence may number its operations like the standard one: then the sequence tells them apart. */
function idWithin(sequence: XmlElement, operationId: string, taken: ReadonlySet<string>): string {
  if (!taken.has(operationId)) return operationId;
  return `${operationId}/${textOf(sequence, 'PLNFL') ?? ''}`;
}
