import { FRAMED_OUTPUTS, type FramedOutput } from '#libs/contracts';
import { outputSchema } from './output-schemas.js';

describe('the schema of an output', () => {
  it.each(Object.keys(FRAMED_OUTPUTS) as FramedOutput[])('needs no other: %s', (output) => {
    const schema = outputSchema(output) as { anyOf: object[]; definitions: object };
    const names = Object.keys(schema.definitions);
    const text = JSON.stringify(schema);
    const references = [...text.matchAll(/"\$ref":"#\/definitions\/([\w-]+)"/g)];
    expect(new Set(references.map(([, name]) => name))).toEqual(new Set(names));
    expect(text.match(/"\$ref"/g)).toHaveLength(references.length);
    expect(text.match(/"\$schema"/g)).toHaveLength(1);
    expect(outputSchema(output)).toEqual(schema);
  });
});
