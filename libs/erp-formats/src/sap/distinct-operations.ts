/**
 * Ids of an order's operations. A parallel sequence may number its operations like the standard one: then the
 * sequence tells them apart.
 */
export class DistinctOperations {
  private readonly taken = new Set<string>();

  idOf(operationId: string, sequence: string | undefined): string {
    const id = this.taken.has(operationId) ? `${operationId}/${sequence ?? ''}` : operationId;
    this.taken.add(id);
    return id;
  }
}
