import { createRequire } from 'node:module';

type AnyFunction = ((...given: never[]) => unknown) | (new (...given: never[]) => unknown);

/** What is replaced is what this one has. */
const VERSION = '2.2.4';
const require = createRequire(import.meta.url);
const patched = new Set<string>();

/** @throws Error when another version of kafkajs is installed than the one that the patches are made for */
export function assertVersion(): void {
  const { version } = require('kafkajs/package.json') as { version: string };
  if (version === VERSION) return;
  throw new Error(`kafkajs ${version} is installed, but its patches are made for ${VERSION}`);
}

/**
 * Puts another function in place of the one that a module of kafkajs is. kafkajs has no setting for it, so
 * that must be done before its first request makes the module known to the rest of it; again it does nothing.
 *
 * @param path of the module, such as `kafkajs/src/…/encoder.js`
 * @param ours makes the one to put there out of kafkajs's
 * @throws Error when the module is no function
 */
export function patchModule<F extends AnyFunction>(path: string, ours: (kafkajs: F) => F): void {
  if (patched.has(path)) return;
  const original: unknown = require(path);
  const module = require.cache[require.resolve(path)];
  if (typeof original !== 'function' || module === undefined) throw unexpected(path);
  module.exports = ours(original as F);
  patched.add(path);
}

/** The same of one function of a module that has several, before another module takes it from there. */
export function patchMember(path: string, name: string, ours: AnyFunction): void {
  if (patched.has(path)) return;
  const members = require(path) as Record<string, unknown>;
  if (typeof members[name] !== 'function') throw unexpected(path);
  members[name] = ours;
  patched.add(path);
}

function unexpected(path: string): Error {
  return new Error(`${path} is not what it is in kafkajs ${VERSION}`);
}
