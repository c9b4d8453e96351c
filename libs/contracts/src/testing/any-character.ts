import fc from 'fast-check';

/** Any but half a surrogate pair. fast-check's unit `binary` is the same, and takes more than a second to be made. */
export const anyCharacter = fc
  .oneof(fc.nat({ max: 0xff }), fc.nat({ max: 0x10f7ff }))
  .map((number) => String.fromCodePoint(number < 0xd800 ? number : number + 0x800));
