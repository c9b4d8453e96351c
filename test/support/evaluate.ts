import { join, resolve } from 'node:path';

const ROOT = resolve(import.meta.dirname, '../..');

/**
 * What an expression comes to, with exports of one of the tools' modules in reach: tools have no types of their own.
 * Its value is what JSON keeps of it.
 */
export async function evaluate(
  module: string,
  names: string,
  expression: string,
): Promise<unknown> {
  const path = JSON.stringify(join(ROOT, 'tools', module));
  const code = `import { ${names} } from ${path};\nexport const value = ${expression};`;
  const { value } = (await import(`data:text/javascript,${encodeURIComponent(code)}`)) as {
    value: unknown;
  };
  return JSON.parse(JSON.stringify(value));
}
