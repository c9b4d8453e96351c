import { Logger } from '@nestjs/common';
import type { IncompleteEntries } from '#libs/cloud-client';
import { BoundedMap } from '../platform/index.js';

/** Bounded, since messages may name machines that do not exist. */
const MAX_LISTS = 10_000;

/** The incomplete entries of one kind of list, as last read; logs them once per change. */
export class PassedOverEntries {
  private readonly logger = new Logger('MachineDirectory');
  private readonly lists = new BoundedMap<string, IncompleteEntries>(MAX_LISTS);

  constructor(private readonly kind: 'machines' | 'reasons' | 'activityLog') {}

  /** Counts the entries of all lists, or of those of some machines. */
  countEntries(machines?: { has(machineId: string): boolean }): number {
    let count = 0;
    for (const [machineId, entries] of this.lists) {
      if (machines?.has(machineId) ?? true) count += entries.count;
    }
    return count;
  }

  /** @param machineId owner of the list; empty for the list of all machines */
  recordList(machineId: string, entries: IncompleteEntries | undefined): void {
    const known = this.lists.get(machineId);
    if (entries === undefined) this.lists.delete(machineId);
    else this.lists.set(machineId, entries);
    if (signatureOf(known) !== signatureOf(entries)) this.logChange(machineId, entries);
  }

  forgetList(machineId: string): void {
    this.lists.delete(machineId);
  }

  private logChange(machineId: string, entries: IncompleteEntries | undefined): void {
    const which = { list: this.kind, ...(machineId !== '' && { machineId }) };
    if (entries === undefined) {
      this.logger.log({ msg: 'entries are complete again', ...which });
      return;
    }
    const { count, why } = entries;
    this.logger.warn({ msg: 'incomplete entries are passed over', ...which, count, why });
  }
}

/** Ignores positions in the list: the service need not keep an order. */
function signatureOf(entries: IncompleteEntries | undefined): string {
  return entries === undefined ? '' : `${entries.count} ${entries.why.replace(/\[\d+\]/g, '[]')}`;
}
