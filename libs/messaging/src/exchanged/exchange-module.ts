import { createRequire } from 'node:module';

type AnyFunction = ((...given: never[]) => unknown) | (new (...given: never[]) => unknown);

const exchanged = new Set<string>();

/**
 * Puts another function in place of the one that a module of kafkajs is. kafkajs has no setting for it, so
 * that must be done before its first request makes the module known to the rest of it; again it does nothing.
 *
 * @param path of the module, such as `kafkajs/src/…/encoder.js`
 * @param ours makes the one to put there out of kafkajs's
 * @throws Error when kafkajs is not laid out as the pinned version is
 */
export function exchangeModule<F extends AnyFunction>(path: string, ours: (kafkajs: F) => F): void {
  if (exchanged.has(path)) return;
  const require = createRequire(import.meta.url);
  const original: unknown = require(path);
  const module = require.cache[require.resolve(path)];
  if (typeof original !== 'function' || module === undefined) throw notAsPinned(path);
  module.exports = ours(original as F);
  exchanged.add(path);
}

/** The same of one function of a module that has several, before another module takes it from there. */
export function exchangeMember(path: string, name: string, ours: AnyFunction): void {
  if (exchanged.has(path)) return;
  const members = createRequire(import.meta.url)(path) as Record<string, unknown>;
  if (typeof members[name] !== 'function') throw notAsPinned(path);
  members[name] = ours;
  exchanged.add(path);
}

function notAsPinned(path: string): Error {
  return new Error(`kafkajs has another ${path} than the version this project pins`);
}
