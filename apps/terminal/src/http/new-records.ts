import { isIdentifier } from '#libs/contracts';
import { ApiError } from '#libs/http-api';
import { isOperatorName } from '../access/identity.js';
import type { NewEntry, NewNote } from '../api/index.js';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[1-8][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/i;
const MAX_RECORDS = 100;
const LONGEST_TEXT = 2000;

/** A list of 1 to 100 of a body, each read by `read`. @throws ApiError 400 */
export function recordsOf<T>(
  body: unknown,
  name: string,
  read: (value: Record<string, unknown>) => T | undefined,
): T[] {
  const list = isObject(body) ? body[name] : undefined;
  if (!Array.isArray(list) || list.length === 0 || list.length > MAX_RECORDS) {
    throw invalid(`${name} must be a list of 1 to ${MAX_RECORDS}`);
  }
  return list.map((value: unknown, index) => {
    const record = isObject(value) ? read(value) : undefined;
    if (record === undefined) throw invalid(`${name}[${index}] is not as it should be`);
    return record;
  });
}

export function readEntry(value: Record<string, unknown>): NewEntry | undefined {
  const { entryId, machineId, reasonId, startTime, endTime = null, overOperating } = value;
  if (!isUuid(entryId) || !isIdentifier(machineId) || !isIdentifier(reasonId)) return undefined;
  if (!isSeconds(startTime) || !isSecondsOrNull(endTime)) return undefined;
  const making = readMaking(value);
  if (making === undefined) return undefined;
  const entry = { entryId: entryId.toLowerCase(), machineId, reasonId, startTime, endTime };
  return { ...entry, ...(overOperating === true && { overOperating }), ...making };
}

export function readNote(value: Record<string, unknown>): NewNote | undefined {
  const { noteId, machineId, startTime, endTime = null, text } = value;
  if (!isUuid(noteId) || !isIdentifier(machineId) || typeof text !== 'string') return undefined;
  if (!isSeconds(startTime) || !isSecondsOrNull(endTime)) return undefined;
  if (text.trim() === '' || text.length > LONGEST_TEXT) return undefined;
  const making = readMaking(value);
  if (making === undefined) return undefined;
  return { noteId: noteId.toLowerCase(), machineId, startTime, endTime, text, ...making };
}

/** Who entered it, and when. */
function readMaking({
  operator,
  madeAt,
}: Record<string, unknown>): Pick<NewEntry, 'operator' | 'madeAt'> | undefined {
  if (operator !== undefined && operator !== null && !isOperatorName(operator)) return undefined;
  if (madeAt !== undefined && !isSeconds(madeAt)) return undefined;
  return { ...(operator !== undefined && { operator }), ...(madeAt !== undefined && { madeAt }) };
}

function isUuid(value: unknown): value is string {
  return typeof value === 'string' && UUID.test(value);
}

function isSeconds(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) > 0 && Number(value) < 100_000_000_000;
}

function isSecondsOrNull(value: unknown): value is number | null {
  return value === null || isSeconds(value);
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function invalid(message: string): ApiError {
  return new ApiError(400, 'invalid-request', message);
}
