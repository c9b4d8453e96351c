/** Numeric order numbers are padded with zeros on the wire and shown without them; others are as they are. */
export function orderNumber(text: string | undefined): string | undefined {
  if (text === undefined || !/^\d+$/.test(text)) return text;
  const number = text.replace(/^0+/, '');
  return number === '' ? undefined : number;
}
