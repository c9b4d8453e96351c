import type { ShiftCalendar } from '#libs/clock';
import {
  type ClassificationReasonsRecord,
  type CommandOutcome,
  headerText,
  isIdentifier,
  type MachineRegistryRecord,
  type MachineStateRecord,
  OUTCOME_TYPES,
  openEnvelope,
  parseDowntimeReason,
  readEpochSeconds,
  type StateEvent,
  STATE_EVENT_TYPES,
  TOPICS,
  uriDecoded,
  withoutFrame,
} from '#libs/contracts';
import type { RecordPlace, StoredRecord } from '#libs/kafka';
import type { Entry, Note, ReasonLists } from '../api/index.js';
import { type Evaluation, Machine, type ReasonList } from './machine.js';
import type { Span } from './periods.js';

/** Beginning of `ce_source` in records of terminals; the percent-encoded station follows. */
export const STATION_SOURCE = '/machine-terminal/';

/** Outcomes that were read before their reason and wait for it; beyond this number the oldest is dropped. */
const MAX_EARLY_OUTCOMES = 20_000;
const STATE_EVENTS = new Set<string>(Object.values(STATE_EVENT_TYPES));

export interface PlantOptions {
  topicPrefix: string;
  calendar: ShiftCalendar;
  stopThresholdSeconds: number;
  /** Converts a record's time stamp (epoch milliseconds) to the plant's time (epoch seconds). */
  plantSeconds: (timestampMs: number) => number;
}

/** The changes to collect until the next {@link Plant.takeChanges}, still empty. */
function noChanges() {
  return {
    machineIds: new Set<string>(),
    /** Machines whose list of reasons has changed. */
    reasons: new Set<string>(),
    entries: new Set<Entry>(),
    notes: [] as Note[],
    /** Machines that have left a factory. */
    leftFactories: [] as { machineId: string; factoryId: string }[],
  };
}

interface Outcome {
  status: Entry['status'];
  data: CommandOutcome;
}

/**
 * The plant as its topics describe it, over the last two shifts. One reader applies the records in order; HTTP handlers
 * read the current result.
 */
export class Plant {
  readonly machines = new Map<string, Machine>();
  /**
   * Latest update of any machine, epoch seconds. While no state changes, the bridge still publishes one each minute.
   */
  knownUntil: number | null = null;
  private readonly evaluations = new Map<string, Evaluation>();
  /** By entry id. */
  private readonly entriesById = new Map<string, Entry>();
  private readonly notePlaces = new Map<string, Entry['source']>();
  /** By partition and offset on the topic of reasons. */
  private readonly entriesByPlace = new Map<string, Entry>();
  private readonly earlyOutcomes = new Map<string, Outcome>();
  /** By its JSON: machines of one kind have the same reasons, so each list is stored once. */
  private readonly reasonLists = new Map<string, ReasonList>();
  private changed = noChanges();
  private readonly appliers: Record<string, (record: StoredRecord) => void>;

  constructor(private readonly options: PlantOptions) {
    this.appliers = {
      [TOPICS.registry]: this.applyRegistry.bind(this),
      [TOPICS.states]: this.applyState.bind(this),
      [TOPICS.classificationReasons]: this.applyReasons.bind(this),
      [TOPICS.stateChanges]: this.applyStateEvent.bind(this),
      [TOPICS.commandOutcomes]: this.applyOutcomeRecord.bind(this),
      [TOPICS.downtimeReasons]: this.applyEntry.bind(this),
      [TOPICS.downtimeNotes]: this.applyNote.bind(this),
    };
  }

  /** Ignores records that are not valid messages of their topic. */
  applyRecord(record: StoredRecord): void {
    this.appliers[record.topic.slice(this.options.topicPrefix.length)]?.(record);
  }

  takeChanges(): ReturnType<typeof noChanges> {
    const { changed } = this;
    this.changed = noChanges();
    return changed;
  }

  /** The machines of a factory, or of all, that the service lists. */
  listedMachines(factoryId: string | null): Machine[] {
    return [...this.machines.values()].filter(
      (machine) => machine.isListed && (factoryId === null || machine.factoryId === factoryId),
    );
  }

  entry(entryId: string): Entry | undefined {
    return this.entriesById.get(entryId);
  }

  notePlace(noteId: string): Entry['source'] | undefined {
    return this.notePlaces.get(noteId);
  }

  /** A machine's evaluation, cached until a record about it arrives or its `nextAt` is reached. */
  evaluationOf(machine: Machine, now: number): Evaluation {
    const known = this.evaluations.get(machine.machineId);
    if (known !== undefined && known.nextAt > now) return known;
    // this call may be the first after `nextAt`: pages still have to get the change
    if (known !== undefined) this.changed.machineIds.add(machine.machineId);
    const { calendar, stopThresholdSeconds } = this.options;
    const window = this.window(now);
    const evaluation = machine.evaluate({ now, calendar, stopThresholdSeconds, window });
    this.evaluations.set(machine.machineId, evaluation);
    return evaluation;
  }

  /** The current shift and the last, newest first. */
  shifts(now: number): [Span, Span] {
    const current = this.options.calendar.shiftAt(now);
    const last = this.options.calendar.shiftAt(current.startTime - 1);
    return [spanOf(current), spanOf(last)];
  }

  window(now: number): Span {
    const [current, last] = this.shifts(now);
    return { startTime: last.startTime, endTime: current.endTime };
  }

  /** Marks machines that change with time alone: a stop has passed the threshold, a reason has ended. */
  markDue(now: number): void {
    for (const [machineId, { nextAt }] of this.evaluations) {
      if (nextAt <= now) this.markChanged(machineId);
    }
  }

  /** Forgets records from before `time`, the start of the last shift. */
  forgetRecordsBefore(time: number): void {
    for (const machine of this.machines.values()) {
      machine.timeline.forgetPeriodsBefore(time);
      const isOver = ({ startTime, endTime, sentAt }: Entry): boolean =>
        Math.max(startTime, endTime ?? 0, sentAt) < time;
      for (const entry of removeMatching(machine.entries, isOver)) this.forgetEntry(entry);
      for (const { noteId } of removeMatching(
        machine.notes,
        ({ at, startTime }) => Math.max(at, startTime) < time,
      )) {
        this.notePlaces.delete(noteId);
      }
      if (machine.isListed || machine.entries.length > 0) this.markChanged(machine.machineId);
      else this.machines.delete(machine.machineId);
    }
    // a reason that was sent twice has two places
    for (const [place, entry] of this.entriesByPlace) {
      if (this.entriesById.get(entry.entryId) !== entry) this.entriesByPlace.delete(place);
    }
    this.reasonLists.clear();
    for (const { reasons } of this.machines.values()) {
      this.reasonLists.set(JSON.stringify(reasons), reasons);
    }
  }

  factories(): { factoryId: string; factoryName: string }[] {
    const names = new Map<string, string>();
    for (const { registry } of this.machines.values()) {
      if (registry !== undefined) names.set(registry.factoryId, registry.factoryName);
    }
    return [...names]
      .map(([factoryId, factoryName]) => ({ factoryId, factoryName }))
      .sort((a, b) => (a.factoryName < b.factoryName ? -1 : 1));
  }

  reasonListsOf(machines: readonly Machine[]): ReasonLists {
    const lists = new Map<ReasonList, number>();
    const byMachine = machines.map((machine) => {
      const list = lists.get(machine.reasons) ?? lists.size;
      lists.set(machine.reasons, list);
      return [machine.machineId, { list, favourites: machine.favourites() }] as const;
    });
    return { lists: [...lists.keys()], machines: Object.fromEntries(byMachine) };
  }

  private applyRegistry({ key, value }: StoredRecord): void {
    const machine = this.machineByKey(key);
    if (machine === undefined) return;
    const wasListed = machine.isListed;
    const formerFactory = wasListed ? machine.factoryId : undefined;
    machine.registry = objectOf(value) as MachineRegistryRecord | undefined;
    // its reasons may have been read earlier; reasons of unlisted machines are not published
    if (!wasListed && machine.reasons.length > 0) this.changed.reasons.add(machine.machineId);
    if (formerFactory !== undefined && formerFactory !== machine.factoryId) {
      this.changed.leftFactories.push({ machineId: machine.machineId, factoryId: formerFactory });
    }
    this.markChanged(machine.machineId);
  }

  private applyState({ key, value }: StoredRecord): void {
    const machine = this.machineByKey(key);
    if (machine === undefined) return;
    machine.latest = objectOf(value) as MachineStateRecord | undefined;
    const { observation, lastUpdateTime } = machine.latest ?? {};
    if (observation === 'ok' && lastUpdateTime != null) {
      this.knownUntil = Math.max(this.knownUntil ?? 0, lastUpdateTime);
    }
    this.markChanged(machine.machineId);
  }

  private applyReasons({ key, value }: StoredRecord): void {
    const machine = this.machineByKey(key);
    const record = objectOf(value) as ClassificationReasonsRecord | undefined;
    if (machine === undefined) return;
    const reasons = (record?.reasons ?? []).map(({ code, name }) => ({ code, name }));
    const text = JSON.stringify(reasons);
    const list = this.reasonLists.get(text) ?? reasons;
    this.reasonLists.set(text, list);
    if (list === machine.reasons) return;
    machine.reasons = list;
    this.changed.reasons.add(machine.machineId);
  }

  private applyStateEvent({ key, value, headers }: StoredRecord): void {
    const type = headerText(headers, 'ce_type') ?? '';
    const id = headerText(headers, 'ce_id');
    const machine = this.machineByKey(key);
    const data = objectOf(value);
    if (machine === undefined || id === null || data === undefined || !STATE_EVENTS.has(type))
      return;
    machine.timeline.applyEvent(id, { type, data } as unknown as StateEvent);
    if (type === STATE_EVENT_TYPES.corrected) {
      for (const entry of machine.markMoved()) this.changed.entries.add(entry);
    }
    this.markChanged(machine.machineId);
  }

  private applyOutcomeRecord({ value, headers }: StoredRecord): void {
    const type = headerText(headers, 'ce_type');
    const data = objectOf(value) as CommandOutcome | undefined;
    if (data === undefined) return;
    if (type === OUTCOME_TYPES.workOrderListApplied) {
      const { machineId, workingOrders, appliedAt } = data;
      if (machineId === null || workingOrders === undefined) return;
      this.machine(machineId).setWorkingOrders(workingOrders, appliedAt ?? 0);
      this.markChanged(machineId);
      return;
    }
    const status = STATUSES[type ?? ''];
    if (status === undefined) return;
    const { topic, partition, offset } = data.source;
    if (topic !== `${this.options.topicPrefix}${TOPICS.downtimeReasons}`) return;
    const entry = this.entriesByPlace.get(`${partition}-${offset}`);
    if (entry !== undefined) this.applyOutcome(entry, { status, data });
    else this.keepEarlyOutcome(`${partition}-${offset}`, { status, data });
  }

  private applyEntry(record: StoredRecord): void {
    const { partition, offset, headers } = record;
    const envelope = openEnvelope(record);
    const reason = envelope.ok ? parseDowntimeReason(envelope.value.body) : envelope;
    if (!reason.ok) return;
    const { machineId, reasonId, startTime, endTime = null } = reason.value;
    const ceSource = headerText(headers, 'ce_source') ?? '';
    const isOurs = ceSource.startsWith(STATION_SOURCE);
    const place = `${partition}-${offset}`;
    const messageId = headerText(headers, 'message-id');
    const entryId = isOurs && isIdentifier(messageId) ? messageId : place;
    const known = this.entriesById.get(entryId);
    if (known !== undefined) {
      // stored twice under one id, as by two servers: the outcomes of both belong to the first
      this.entriesByPlace.set(place, known);
      return;
    }
    const entry: Entry = {
      ...{ entryId, machineId, reasonId, startTime, endTime, appliedAt: null },
      station: isOurs ? uriDecoded(ceSource.slice(STATION_SOURCE.length)) : null,
      operator: headerText(headers, 'operator'),
      sentAt: this.sentAt(record, isOurs),
      ...{ status: 'sent', code: null, detail: null, moved: false },
      source: sourceOf(record),
    };
    const machine = this.machine(machineId);
    entry.moved = machine.isMoved(entry);
    this.entriesById.set(entryId, entry);
    this.entriesByPlace.set(place, entry);
    const forgotten = machine.addEntry(entry);
    if (forgotten !== undefined) this.forgetEntry(forgotten);
    const early = this.earlyOutcomes.get(place);
    this.earlyOutcomes.delete(place);
    if (early !== undefined) this.applyOutcome(entry, early);
    this.changed.entries.add(entry);
    this.markChanged(machineId);
  }

  private applyNote(record: StoredRecord): void {
    const { partition, offset, key, value, headers } = record;
    const machine = this.machineByKey(key);
    const data = objectOf(value) as Partial<Note> | undefined;
    if (machine === undefined || typeof data?.text !== 'string') return;
    const noteId = headerText(headers, 'message-id') ?? `${partition}-${offset}`;
    if (this.notePlaces.has(noteId)) return;
    const { startTime = 0, endTime = null, text, operator = '', station = '', at = 0 } = data;
    // pages can show valid times only
    if (![startTime, endTime ?? 0, at].every(isTime)) return;
    const { machineId } = machine;
    const note = { noteId, machineId, startTime, endTime, text, operator, station, at };
    this.notePlaces.set(noteId, sourceOf(record));
    const forgotten = machine.addNote(note);
    if (forgotten !== undefined) this.notePlaces.delete(forgotten.noteId);
    this.changed.notes.push(note);
  }

  private applyOutcome(entry: Entry, { status, data }: Outcome): void {
    const isFinal = entry.status === 'applied' || entry.status === 'rejected';
    if (isFinal && status === 'deferred') return;
    entry.status = status;
    entry.code = data.code;
    entry.detail = data.detail;
    entry.appliedAt = data.appliedAt;
    this.changed.entries.add(entry);
    this.markChanged(entry.machineId);
  }

  private keepEarlyOutcome(place: string, outcome: Outcome): void {
    const before = this.earlyOutcomes.get(place);
    if (before !== undefined && outcome.status === 'deferred') return;
    this.earlyOutcomes.set(place, outcome);
    const [oldest] = this.earlyOutcomes.keys();
    if (this.earlyOutcomes.size > MAX_EARLY_OUTCOMES && oldest !== undefined) {
      this.earlyOutcomes.delete(oldest);
    }
  }

  private forgetEntry({ entryId, source }: Entry): void {
    this.entriesById.delete(entryId);
    this.entriesByPlace.delete(`${source.partition}-${source.offset}`);
  }

  /** Terminals' `ce_time` is when a reason was entered, which may be long before; what counts is when it was sent. */
  private sentAt({ headers, timestamp }: StoredRecord, isOurs: boolean): number {
    if (isOurs) return this.options.plantSeconds(Number(timestamp));
    const time = readEpochSeconds(headerText(headers, 'ce_time'));
    return time.ok ? time.seconds : this.options.plantSeconds(Number(timestamp));
  }

  private machineByKey(key: Buffer | null): Machine | undefined {
    const machineId = key?.toString('utf8');
    return isIdentifier(machineId) ? this.machine(machineId) : undefined;
  }

  private machine(machineId: string): Machine {
    let machine = this.machines.get(machineId);
    if (machine === undefined) this.machines.set(machineId, (machine = new Machine(machineId)));
    return machine;
  }

  private markChanged(machineId: string): void {
    this.evaluations.delete(machineId);
    this.changed.machineIds.add(machineId);
  }
}

const STATUSES: Readonly<Record<string, Entry['status'] | undefined>> = {
  [OUTCOME_TYPES.downtimeReasonApplied]: 'applied',
  [OUTCOME_TYPES.downtimeReasonRejected]: 'rejected',
  [OUTCOME_TYPES.downtimeReasonDeferred]: 'deferred',
};

/** A record's place as pages receive it. */
export function sourceOf({ topic, partition, offset }: RecordPlace): Entry['source'] {
  return { topic, partition, offset: String(offset) };
}

function spanOf({ startTime, endTime }: Span): Span {
  return { startTime, endTime };
}

/** The JSON object in a record of the bridge or a terminal, its fields unchecked; undefined for anything else. */
function objectOf(value: Buffer | null): object | undefined {
  if (value === null) return undefined;
  try {
    const json: unknown = JSON.parse(withoutFrame(value).toString('utf8'));
    return typeof json === 'object' && json !== null ? json : undefined;
  } catch {
    return undefined;
  }
}

function isTime(value: unknown): boolean {
  return typeof value === 'number' && readEpochSeconds(value).ok;
}

/** Removes the matching entries from a list and returns them. */
function removeMatching<T>(list: T[], is: (entry: T) => boolean): T[] {
  const out = list.filter(is);
  if (out.length > 0) list.splice(0, list.length, ...list.filter((entry) => !is(entry)));
  return out;
}
