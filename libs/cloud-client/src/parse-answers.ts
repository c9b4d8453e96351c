import { MACHINE_STATES, type MachineState } from '#libs/contracts';
import { type AnswerField, type ListEntries, MalformedField } from '#libs/http-calls';

/** One machine the token may see (interface: "Machine info entry"). */
export interface MachineInfo {
  machineId: string;
  /** Plain text, whatever structure the service sent; the machine ID when it sent no name. */
  displayName: string;
  factoryId: string;
  /** Empty when the service sent none. */
  factoryName: string;
}

/** The state a machine is in (interface: "Machine state"); accurate to within 1 to 2 minutes. */
export interface MachineStateReading {
  state: MachineState;
  /** Whole minutes since the state began; jitters by a minute from one reading to the next. */
  durationInMinutes: number;
  /** Epoch seconds of the service's latest update. */
  lastUpdateTime: number;
}

/** One period of a machine's history (interface: "Activity log entry"). */
export interface ActivityLogEntry {
  /** Epoch seconds. */
  startTime: number;
  /** Epoch seconds, never before `startTime`. */
  endTime: number;
  state: MachineState;
}

/** A reason that may be given for a machine's state (interface: "Classification reasons"). */
export interface ClassificationReason {
  /** Display name; the code when the service sent no name. */
  name: string;
  code: string;
}

/** Maximum characters of an id or name: with a megabyte, Kafka would refuse every record of the machine. */
const LONGEST_TEXT = 1000;
/** Halves of surrogate pairs, as of an emoji that the service has cut: many readers of JSON refuse them. */
const HALF_CHARACTERS = /\p{Cs}/gu;

/**
 * Reads the answer of getMachineInfo: a bare list or `{machines: […]}`. An entry without its identifiers (machine,
 * factory) is incomplete; names may be missing. @throws MalformedField
 */
export function parseMachineInfo(answer: AnswerField): ListEntries<MachineInfo> {
  // Otherwise each of a hundred thousand machines of one factory would have its own copy of the factory's name.
  const texts = new Map<string, string>();
  const shared = (text: string): string => {
    const known = texts.get(text);
    if (known === undefined) texts.set(text, text);
    return known ?? text;
  };
  return readEntries(answer.list('machines'), (entry) => readMachine(entry, shared), readMachineId);
}

function readMachine(entry: AnswerField, shared: (text: string) => string): MachineInfo {
  const machineId = readMachineId(entry);
  return {
    machineId,
    displayName: readDisplayName(entry.field('machineDisplayName').value) ?? machineId,
    factoryId: shared(readId(entry.field('factoryId'))),
    factoryName: shared(readName(entry.field('factoryName'), '')),
  };
}

function readMachineId(entry: AnswerField): string {
  return readId(entry.field('machineUniqueId'));
}

function readId(field: AnswerField): string {
  const id = field.text();
  if (id.length > LONGEST_TEXT) field.fail(`${LONGEST_TEXT} characters at most`);
  // as keys of records, ids that differ only in their halves would be the same
  return id.search(HALF_CHARACTERS) < 0 ? id : field.fail('whole characters');
}

function readMachineState(entry: AnswerField): MachineState {
  return entry.field('machineState').oneOf(MACHINE_STATES);
}

/** Reads the answer of getMachineState, with `astUpdateTime` or the full word. @throws MalformedField */
export function parseMachineState(answer: AnswerField): MachineStateReading {
  return {
    state: readMachineState(answer),
    durationInMinutes: answer.field('durationInMinutes').wholeNumber(),
    lastUpdateTime: answer.field('astUpdateTime', 'lastUpdateTime').epochSeconds(),
  };
}

/**
 * Reads the answer of MachineActivityLog: a bare list or `{activity: […]}`, in the order given.
 *
 * An entry that cannot be read, such as one of an unknown state, is left out: its time is then unknown. If the log
 * were refused for it, nothing would settle while the entry is in the window, up to 30 days.
 *
 * @throws MalformedField
 */
export function parseActivityLog(answer: AnswerField): ListEntries<ActivityLogEntry> {
  return readEntries(answer.list('activity'), readEntry);
}

function readEntry(entry: AnswerField): ActivityLogEntry {
  const startTime = entry.field('startTime').epochSeconds();
  const end = entry.field('endTime');
  const endTime = end.isAbsent()
    ? startTime + entry.field('durationInMinutes').wholeNumber() * 60
    : end.epochSeconds();
  if (endTime < startTime) end.fail('a time not before startTime');
  return { startTime, endTime, state: readMachineState(entry) };
}

/**
 * Reads the answer of MachineClassification: `{reasons: […]}` or a bare list. An entry without a code is incomplete;
 * the name may be missing. @throws MalformedField
 */
export function parseClassificationReasons(answer: AnswerField): ListEntries<ClassificationReason> {
  return readEntries(answer.list('reasons'), readReason, readCode);
}

function readReason(entry: AnswerField): ClassificationReason {
  const code = readCode(entry);
  return { name: readName(entry.field('name'), code), code };
}

function readCode(entry: AnswerField): string {
  return readId(entry.field('code'));
}

/**
 * Reads a list without its incomplete entries. If no entry of a list can be read, the answer is malformed.
 * @throws MalformedField
 */
function readEntries<T>(
  list: Iterable<AnswerField>,
  read: (entry: AnswerField) => T,
  readId?: (entry: AnswerField) => string,
): ListEntries<T> {
  const entries: T[] = [];
  const faults: MalformedField[] = [];
  const ids: string[] = [];
  for (const element of list) {
    const entry = attempt(() => read(element));
    if (!(entry instanceof MalformedField)) {
      entries.push(entry);
      continue;
    }
    faults.push(entry);
    const id = attempt(() => readId?.(element));
    if (typeof id === 'string') ids.push(id);
  }
  const [first] = faults;
  if (first === undefined) return { entries };
  if (entries.length === 0) throw first;
  return { entries, incomplete: { count: faults.length, why: first.message, ids } };
}

function attempt<T>(read: () => T): T | MalformedField {
  try {
    return read();
  } catch (error) {
    if (error instanceof MalformedField) return error;
    throw error;
  }
}

/** The interface calls the display name an object and does not define its fields: likely ones first. */
const LIKELY_NAMES = ['en', 'name', 'value', 'displayName'];
/** Enough for a name per language inside a wrapper; a hostile answer may be nested far deeper. */
const DEEPEST_LEVEL = 3;

/** A name that the interface calls a string, whatever its JSON type; `absent` if there is none. */
function readName({ value }: AnswerField, absent: string): string {
  return typeof value === 'number' ? String(value) : (readDisplayName(value) ?? absent);
}

/** The text of a display name given as a string or as an object of any structure, if it has one. */
export function readDisplayName(name: unknown, level = 0): string | undefined {
  if (typeof name === 'string') {
    const text = name.slice(0, LONGEST_TEXT).replace(HALF_CHARACTERS, '');
    return text.trim() === '' ? undefined : text;
  }
  if (typeof name !== 'object' || name === null || level > DEEPEST_LEVEL) return undefined;
  const entries = Object.entries(name);
  const likelyFirst = [
    ...LIKELY_NAMES.flatMap((likely) => entries.filter(([key]) => key === likely)),
    ...entries.filter(([key]) => !LIKELY_NAMES.includes(key)),
  ];
  for (const [, value] of likelyFirst) {
    const text = readDisplayName(value, level + 1);
    if (text !== undefined) return text;
  }
  return undefined;
}
