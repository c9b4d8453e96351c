const REDACTED = '***';
/** A longer body is no sentence about what was wrong. */
const LONGEST_BODY = 256 * 1024;
/** Shorter runs of letters and digits would be found in ordinary words. */
const FRAGMENT_LENGTH = 8;

/**
 * An error body without the token: a service may echo the request, and the body ends up in logs and dead letters.
 * The token itself is replaced. Letters and digits stay as they are in JSON, URLs and HTML, so an escaped or
 * shortened echo still holds the beginning or the end of one of the token's runs of them: of such a body nothing is kept.
 */
export function redactToken(body: string, token: string): string {
  if (body.length > LONGEST_BODY) return '';
  if (token === '') return body;
  const redacted = body.replaceAll(token, REDACTED);
  return fragmentsOf(token).some((fragment) => redacted.includes(fragment)) ? '' : redacted;
}

function fragmentsOf(token: string): string[] {
  const runs = token.split(/[^A-Za-z0-9]+/).filter(({ length }) => length >= FRAGMENT_LENGTH);
  // A token without such a run is short, or mostly punctuation: its longest one has to do.
  if (runs.length === 0) return longestRun(token);
  return runs.flatMap((run) => [run.slice(0, FRAGMENT_LENGTH), run.slice(-FRAGMENT_LENGTH)]);
}

function longestRun(token: string): string[] {
  const runs = token.split(/[^A-Za-z0-9]+/).sort((one, other) => other.length - one.length);
  return runs.slice(0, 1).filter(({ length }) => length >= 4);
}
