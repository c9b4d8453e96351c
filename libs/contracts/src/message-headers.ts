/** A header of a record. Kafka tells one without a value from one with an empty value. */
export type MessageHeader = readonly [name: string, value: Buffer | string | null];

/** The headers of a record in their order, of which Kafka promises that it is kept; names may come several times. */
export type MessageHeaders = readonly MessageHeader[];

/**
 * The first value of a header as UTF-8 text, or null when it is not there or empty. Without one of that very name,
 * of that name in any case.
 *
 * @param name in lower case
 */
export function headerText(headers: MessageHeaders, name: string): string | null {
  const value = valueOf(headers, name);
  const text = typeof value === 'string' ? value : value?.toString('utf8');
  return text === undefined || text === '' ? null : text;
}

function valueOf(headers: MessageHeaders, name: string): MessageHeader[1] {
  for (const header of headers) if (header[0] === name) return header[1];
  for (const header of headers) if (isInOtherCase(header[0], name)) return header[1];
  return null;
}

/** Most names are of another length, which is cheaper to see. */
function isInOtherCase(other: string, name: string): boolean {
  return other.length === name.length && other.toLowerCase() === name;
}
