import fc from 'fast-check';

/**
 * Any character but half a surrogate pair. Equals fast-check's unit `binary`, which takes more than a second to build.
 */
export const anyCharacter = fc
  .oneof(fc.nat({ max: 0xff }), fc.nat({ max: 0x10f7ff }))
  .map((number) => String.fromCodePoint(number < 0xd800 ? number : number + 0x800));
