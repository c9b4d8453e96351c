/**
 * The end of the year 9999. A time beyond it is not in epoch seconds; above all it catches
 * milliseconds.
 */
export const LATEST_EPOCH_SECONDS = 253_402_300_799;

/** In characters; of a machine, a reason or a work order. */
export const LONGEST_IDENTIFIER = 256;
