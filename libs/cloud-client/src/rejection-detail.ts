const LONGEST_DETAIL = 300;
/** Where services commonly put the sentence; the interface does not show the shape of an error body. */
const SENTENCE_FIELDS = ['message', 'detail', 'error', 'reason', 'title'];

/** One printable line that tells why the service refused, from its status and error body. */
export function describeRejection(status: number, body: string): string {
  if (status >= 300 && status < 400) return `HTTP ${status}: redirects are not followed`;
  const sentence = (sentenceOf(body) ?? body).replace(/[\s\p{Cc}]+/gu, ' ').trim();
  return shorten(sentence === '' ? `HTTP ${status}` : `HTTP ${status}: ${sentence}`);
}

function sentenceOf(body: string): string | undefined {
  try {
    const json: unknown = JSON.parse(body);
    if (typeof json === 'string') return json;
    if (typeof json !== 'object' || json === null) return undefined;
    const fields = json as Record<string, unknown>;
    return SENTENCE_FIELDS.map((name) => fields[name]).find((value) => typeof value === 'string');
  } catch {
    return undefined;
  }
}

function shorten(text: string): string {
  return text.length <= LONGEST_DETAIL ? text : `${text.slice(0, LONGEST_DETAIL - 1)}…`;
}
