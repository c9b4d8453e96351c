/** In characters; of a machine, a reason or a work order. */
export const LONGEST_IDENTIFIER = 256;
