import { type FieldReader, MalformedField } from './field-reader.js';

/** Entries that lack what they are identified by. */
export interface IncompleteEntries {
  count: number;
  /** What the first of them lacks, by its path in the answer and without any value. */
  why: string;
  /** Of those that have at least an ID. */
  ids: readonly string[];
}

/** The entries of a list that could be read. */
export interface ListEntries<T> {
  entries: T[];
  incomplete?: IncompleteEntries;
}

/**
 * Reads a list entry by entry: one that is incomplete is left out alone, for the others have nothing to do
 * with it. When not a single one can be read, it is not the list it was taken for.
 *
 * @throws MalformedField
 */
export function readEntries<T>(
  list: Iterable<FieldReader>,
  read: (entry: FieldReader) => T,
  readId: (entry: FieldReader) => string,
): ListEntries<T> {
  const entries: T[] = [];
  const faults: MalformedField[] = [];
  const ids: string[] = [];
  for (const element of list) {
    const entry = attempt(() => read(element));
    if (!(entry instanceof MalformedField)) {
      entries.push(entry);
      continue;
    }
    faults.push(entry);
    const id = attempt(() => readId(element));
    if (!(id instanceof MalformedField)) ids.push(id);
  }
  const [first] = faults;
  if (first === undefined) return { entries };
  if (entries.length === 0) throw first;
  return { entries, incomplete: { count: faults.length, why: first.message, ids } };
}

function attempt<T>(read: () => T): T | MalformedField {
  try {
    return read();
  } catch (error) {
    if (error instanceof MalformedField) return error;
    throw error;
  }
}
