import { isIdentifier, isJsonObject, mediaType, type JsonObject } from '#libs/contracts';

import { readSettingsText, SettingsFileError } from '../document/settings-file.js';
import type { ExpressionCheck, MappingEntry } from './order-mapping.js';

const CRITERIA = ['contentType', 'topic'] as const;
const FIELDS = new Set(['name', 'expression', ...CRITERIA]);

/**
 * Reads a list of `{name?, contentType?, topic?, expression}` and checks every expression. Throws
 * {@link SettingsFileError}, so that a mistake is known at start and not with the first document.
 */
export function parseOrderMapping(
  text: string,
  format: 'json' | 'yaml',
  check: ExpressionCheck,
): MappingEntry[] {
  const content = readSettingsText(text, format, 'the mapping');
  if (!Array.isArray(content) || content.length === 0) {
    throw new SettingsFileError('the mapping must be a list of at least one entry');
  }
  return content.map((entry: unknown, index) => readEntry(entry, index + 1, check));
}

function readEntry(entry: unknown, position: number, check: ExpressionCheck): MappingEntry {
  const where = `entry ${position} of the mapping`;
  if (!isJsonObject(entry)) throw new SettingsFileError(`${where} must be an object`);
  const unknown = Object.keys(entry).find((field) => !FIELDS.has(field));
  // a misspelt criterion would make the entry fit every document
  if (unknown !== undefined) throw new SettingsFileError(`${where}: ${unknown} is no field of it`);
  const name = textField(entry, 'name', where) ?? `${position}`;
  const expression = readExpression(entry, where, check);
  const read: MappingEntry = { name, expression };
  const contentType = mediaType(textField(entry, 'contentType', where) ?? null);
  const topic = textField(entry, 'topic', where);
  if (contentType !== null) read.contentType = contentType;
  if (topic !== undefined) read.topic = topic;
  if (contentType === null && topic === undefined) {
    throw new SettingsFileError(
      `${where} says neither contentType nor topic: it is for no document`,
    );
  }
  return read;
}

function readExpression(entry: JsonObject, where: string, check: ExpressionCheck): string {
  const text = entry['expression'];
  if (typeof text !== 'string' || text.trim() === '') {
    throw new SettingsFileError(`${where} has no expression`);
  }
  const fault = check(text);
  if (fault === undefined) return text;
  throw new SettingsFileError(`${where}, expression: ${fault}`);
}

function textField(entry: JsonObject, name: string, where: string): string | undefined {
  const value = entry[name];
  if (value === undefined) return undefined;
  if (isIdentifier(value)) return value;
  throw new SettingsFileError(`${where}: ${name} must be text of 1 to 256 characters`);
}
