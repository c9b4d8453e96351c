import { charsetOf } from './media-type.js';

describe('the charset of a content type', () => {
  it.each([
    ['application/xml; charset=ISO-8859-1', 'iso-8859-1'],
    ['text/xml;version=1; Charset = "utf-8"', 'utf-8'],
    ['application/xml', undefined],
    [null, undefined],
  ])('of %j is %j', (contentType, charset) => {
    expect(charsetOf(contentType)).toBe(charset);
  });
});
