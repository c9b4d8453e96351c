/** The end of the year 9999. A later time is in another unit, usually milliseconds. */
export const LATEST_EPOCH_SECONDS = 253_402_300_799;

/** Some 32 years: the limit by which a time is shifted, so that `Date` can represent it. */
export const LONGEST_SHIFT_SECONDS = 1_000_000_000;

/** Characters of the id of a machine, a reason or a work order. */
export const LONGEST_IDENTIFIER = 256;
