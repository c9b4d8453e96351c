// Which file imports which, by dependency-cruiser; without specs and files that only specs use.
import { cruise } from 'dependency-cruiser';
import { dirname, join } from 'node:path';

/** Pairs of files; the first imports the second. */
export async function importsOf(root) {
  const { default: configuration } = await import(join(root, '.dependency-cruiser.js'));
  const { enhancedResolveOptions, tsConfig, ...options } = configuration.options;
  const { output } = await cruise(
    ['apps', 'libs'],
    {
      ...options,
      baseDir: root,
      tsConfig,
      exclude: { path: '(-|\\.)spec\\.ts$|/(testing|test)/' },
    },
    enhancedResolveOptions,
  );
  return output.modules.flatMap(({ source, dependencies }) =>
    dependencies.map(({ resolved }) => [source, resolved]),
  );
}

/** Pairs of folders that import each other. They are one folder, whatever their names say. */
export function mutualFolders(imports) {
  const arrows = new Map();
  for (const [from, to] of imports.map((pair) => pair.map(dirname))) {
    arrows.set(from, (arrows.get(from) ?? new Set()).add(to));
  }
  return [...arrows].flatMap(([from, targets]) =>
    [...targets]
      .filter((to) => from < to && arrows.get(to)?.has(from) === true)
      .map((to) => [from, to]),
  );
}
