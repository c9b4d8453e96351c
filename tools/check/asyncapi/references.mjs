import { posix } from 'node:path';

/** Every `$ref` below a value, as `{at, ref}`; `at` is a JSON pointer. */
export function referencesIn(value, at = '') {
  if (typeof value !== 'object' || value === null) return [];
  const own = typeof value.$ref === 'string' ? [{ at, ref: value.$ref }] : [];
  const below = Object.entries(value).flatMap(([key, child]) =>
    referencesIn(child, `${at}/${escaped(key)}`),
  );
  return [...own, ...below];
}

/** Where a reference in `file` leads, as `{file, pointer, value}`; undefined if nothing is there. */
export function follow(documents, file, ref) {
  const [path = '', pointer = ''] = ref.split('#', 2);
  const target = path === '' ? file : posix.join(posix.dirname(file), path);
  const keys = pointer.split('/').slice(1).map(unescaped);
  const value = keys.reduce(step, documents.get(target));
  return value === undefined ? undefined : { file: target, pointer, value };
}

/** The value with what its references lead to in their place; those that `keeps` names by pointer stay. */
export function inlined(documents, file, value, keeps, at = '') {
  if (typeof value !== 'object' || value === null) return value;
  if (typeof value.$ref === 'string' && !keeps(at)) {
    const target = follow(documents, file, value.$ref);
    return target && inlined(documents, target.file, target.value, keeps, at);
  }
  if (Array.isArray(value)) {
    return value.map((child, i) => inlined(documents, file, child, keeps, `${at}/${i}`));
  }
  const entries = Object.entries(value).map(([key, child]) => [
    key,
    inlined(documents, file, child, keeps, `${at}/${escaped(key)}`),
  ]);
  return Object.fromEntries(entries);
}

function step(value, key) {
  const isThere = typeof value === 'object' && value !== null && Object.hasOwn(value, key);
  return isThere ? value[key] : undefined;
}

function escaped(key) {
  return key.replaceAll('~', '~0').replaceAll('/', '~1');
}

function unescaped(key) {
  return key.replaceAll('~1', '/').replaceAll('~0', '~');
}
