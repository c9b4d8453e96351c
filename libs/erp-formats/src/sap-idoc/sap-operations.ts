import { parsed, type OrderOperation, type Parsed } from '#libs/contracts';

import { operationIdOf } from '../sap/operation-id.js';
import { elements, textOf, type DocumentElement } from '../xml/document-element.js';
import { readWithSubOperations, type OrderFrame } from './sap-operation.js';

/**
 * Operations (E1AFVOL) of all sequences (E1AFFLL) in document order, each followed by those of its
 * sub-operations (E1AFUVL) that are done at another work centre; the rest are part of their operation.
 */
export function readSapOperations(
  sequences: readonly DocumentElement[],
  frame: OrderFrame,
): Parsed<OrderOperation[]> {
  const operations: OrderOperation[] = [];
  for (const sequence of sequences) {
    const number = textOf(sequence, 'PLNFL');
    for (const segment of elements(sequence, 'E1AFVOL')) {
      const found = readWithSubOperations(segment, frame);
      if (!found.ok) return found;
      for (const operation of found.value) {
        const operationId = operationIdOf(operation.operationId, number);
        operations.push({ ...operation, operationId });
      }
    }
  }
  return parsed(operations);
}
