const BYTES_A_LINE = 16;

/** Offset, bytes and printable ASCII, sixteen bytes a line. */
export function hexDump(bytes: Buffer): string[] {
  const lines: string[] = [];
  for (let start = 0; start < bytes.length; start += BYTES_A_LINE) {
    const some = bytes.subarray(start, start + BYTES_A_LINE);
    const hex = some.toString('hex').replace(/..(?!$)/g, '$& ');
    const ascii = some.toString('latin1').replace(/[^ -~]/g, '.');
    const offset = start.toString(16).padStart(8, '0');
    lines.push(`${offset}  ${hex.padEnd(3 * BYTES_A_LINE - 1)}  |${ascii}|`);
  }
  return lines;
}
