/**
 * Id of an operation, out of what it says of itself alone: an answer that holds it without its neighbours must
 * name it as one that holds them all. Sequences number their operations each for itself; the standard
 * sequence, whose number is zeros, needs no mention.
 */
export function operationIdOf(number: string, sequence: string | undefined): string {
  return sequence === undefined || /^0*$/.test(sequence) ? number : `${number}/${sequence}`;
}
