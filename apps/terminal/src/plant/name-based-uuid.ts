import { createHash } from 'node:crypto';

/** Made once at random; what it names are reasons that the terminal sends by itself. */
const NAMESPACE = Buffer.from('6f1b7a2c4f0e4b7c9d3a51c0de8e27a4', 'hex');

/** A UUID of version 5: the same name always has the same. */
export function nameBasedUuid(...name: readonly string[]): string {
  const hash = createHash('sha1').update(NAMESPACE).update(JSON.stringify(name)).digest();
  hash.writeUInt8((hash.readUInt8(6) & 0x0f) | 0x50, 6);
  hash.writeUInt8((hash.readUInt8(8) & 0x3f) | 0x80, 8);
  const hex = hash.toString('hex', 0, 16);
  return [
    hex.slice(0, 8),
    hex.slice(8, 12),
    hex.slice(12, 16),
    hex.slice(16, 20),
    hex.slice(20),
  ].join('-');
}
