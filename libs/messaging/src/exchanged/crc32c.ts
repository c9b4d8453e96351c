/** Castagnoli's polynomial, bits reversed. */
const POLYNOMIAL = 0x82f63b78;

/** Of the tables each is one byte further on than the one before. */
const [T0, T1, T2, T3, T4, T5, T6, T7] = tables();

/** The checksum of a record batch (CRC-32C, unsigned): eight bytes at a time, where kafkajs takes one. */
export function crc32c(bytes: Buffer, start: number, end: number): number {
  let crc = -1;
  let at = start;
  for (const whole = end - 7; at < whole; at += 8) {
    crc ^= byte(bytes, at) | (byte(bytes, at + 1) << 8) | (byte(bytes, at + 2) << 16);
    crc ^= byte(bytes, at + 3) << 24;
    crc =
      entry(T7, crc) ^
      entry(T6, crc >>> 8) ^
      entry(T5, crc >>> 16) ^
      entry(T4, crc >>> 24) ^
      entry(T3, byte(bytes, at + 4)) ^
      entry(T2, byte(bytes, at + 5)) ^
      entry(T1, byte(bytes, at + 6)) ^
      entry(T0, byte(bytes, at + 7));
  }
  for (; at < end; at += 1) crc = entry(T0, crc ^ byte(bytes, at)) ^ (crc >>> 8);
  return ~crc >>> 0;
}

/** Of the lowest eight bits. */
function entry(table: Int32Array, index: number): number {
  return table[index & 0xff] ?? 0;
}

function byte(bytes: Buffer, at: number): number {
  return bytes[at] ?? 0;
}

type Tables = readonly [
  ...[Int32Array, Int32Array, Int32Array, Int32Array],
  ...[Int32Array, Int32Array, Int32Array, Int32Array],
];

function tables(): Tables {
  const first = Int32Array.from({ length: 256 }, (_, index) => remainder(index));
  const made = [first];
  while (made.length < 8) {
    const before = made.at(-1) ?? first;
    made.push(before.map((value) => entry(first, value) ^ (value >>> 8)));
  }
  return made as unknown as Tables;
}

function remainder(byteValue: number): number {
  let rest = byteValue;
  for (let bit = 0; bit < 8; bit += 1) rest = rest & 1 ? (rest >>> 1) ^ POLYNOMIAL : rest >>> 1;
  return rest;
}
