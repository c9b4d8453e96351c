/** The value below which the share `q` (0 to 1) of the values lies; nearest rank; NaN without values. */
export function percentile(values, q) {
  const sorted = Float64Array.from(values).sort();
  return sorted[Math.max(0, Math.ceil(q * sorted.length) - 1)] ?? NaN;
}

/** The middle value; for an even number of values, the mean of the two in the middle. */
export function median(values) {
  const sorted = Float64Array.from(values).sort();
  const middle = (sorted.length - 1) / 2;
  return (sorted[Math.floor(middle)] + sorted[Math.ceil(middle)]) / 2;
}
