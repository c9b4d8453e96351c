/**
 * The end of the year 9999. A time beyond it is not in epoch seconds; above all it catches
 * milliseconds.
 */
export const LATEST_EPOCH_SECONDS = 253_402_300_799;

/** Some 32 years: what a time may be moved by, so that it stays within all that `Date` can hold. */
export const LONGEST_SHIFT_SECONDS = 1_000_000_000;

/** In characters; of a machine, a reason or a work order. */
export const LONGEST_IDENTIFIER = 256;
