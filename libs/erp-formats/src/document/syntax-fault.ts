import { printable } from '#libs/contracts';

/** The lines in which the YAML library draws the place that it has named before. */
const DRAWING = /:\n\n[^]*\^\n$/;

/** What a parser of a settings file has to say, on one line. */
export function syntaxFault(cause: unknown): string {
  return cause instanceof Error ? printable(cause.message.replace(DRAWING, '')) : 'unknown fault';
}
