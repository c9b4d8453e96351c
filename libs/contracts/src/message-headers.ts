/** Record headers as Kafka clients give them; names are compared without regard to case. */
export type MessageHeaders = Readonly<
  Record<string, Buffer | string | (Buffer | string)[] | null | undefined>
>;

/** The first value of a header as UTF-8 text, or null when it is not there or empty. */
export function headerText(headers: MessageHeaders, name: string): string | null {
  const direct = Object.hasOwn(headers, name) ? headers[name] : undefined;
  const value = direct ?? valueIgnoringCase(headers, name);
  const first = Array.isArray(value) ? value[0] : value;
  const text = typeof first === 'string' ? first : (first?.toString('utf8') ?? '');
  return text === '' ? null : text;
}

function valueIgnoringCase(headers: MessageHeaders, name: string): MessageHeaders[string] {
  for (const key in headers) {
    if (key.toLowerCase() === name && Object.hasOwn(headers, key)) return headers[key];
  }
  return undefined;
}
