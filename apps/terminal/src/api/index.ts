/**
 * Requests, answers and events between the terminal's page and its server: types only, which both import. Times are
 * epoch seconds of the plant's clock (Session.clock) unless a name says otherwise. Every request but GET carries
 * `content-type: application/json` and `x-machine-terminal: 1`; errors are {code, message} with 4xx/5xx.
 */

/**
 * GET /api/session → Session; 401 where a token is needed. POST /api/session {token} → Session + HttpOnly
 * SameSite=Strict cookie. DELETE /api/session.
 */
export interface Session {
  station: string;
  /** PUT /api/session/operator {operator: string | null} registers the operator until the shift ends. */
  operator: string | null;
  /** IANA zone in which times are shown. */
  timeZone: string;
  /** now = epochSeconds + (real seconds since the answer) × speed. */
  clock: { epochSeconds: number; speed: number };
  stopThresholdSeconds: number;
  /** The current and the last shift, newest first. A `session` event replaces them when a shift begins. */
  shifts: { startTime: number; endTime: number }[];
  factories: { factoryId: string; factoryName: string }[];
  /** By code, from TERMINAL_REASONS_FILE; other reasons are shown with the service's name, without a group. */
  reasonLooks: Record<string, { group?: string; colour?: string; names?: Record<string, string> }>;
  groups: { group: string; colour?: string; names?: Record<string, string> }[];
}

export type MachineState = 'OPERATING' | 'IDLE' | 'OFF';
type Observation = 'ok' | 'noData' | 'stale' | 'unreachable' | 'forbidden';

/** A time span, its end exclusive; endTime is null while it continues. */
export interface Period {
  startTime: number;
  endTime: number | null;
}

/** A part of a stop, longer than the threshold, that no applied or pending reason covers. */
export interface OpenStop extends Period {
  state: 'IDLE' | 'OFF';
}

export interface Tile {
  machineId: string;
  displayName: string;
  factoryId: string;
  /** null while no state is known */
  state: MachineState | null;
  startTime: number | null;
  observation: Observation | 'unknown' | 'removed';
  /**
   * The state's latest update, as of when the state was last published. While observation is `ok`, the state is known
   * up to {@link Link.knownUntil} if that is later.
   */
  knownUntil: number | null;
  /** The first 20 orders of the list last applied; null if none is known. */
  workingOrders: string[] | null;
  openStops: OpenStop[];
  shortStops: { count: number; seconds: number };
  /** the open-ended reason that applies now */
  goingOn: { entryId: string; reasonId: string; startTime: number } | null;
}

/**
 * GET /api/events?factoryId=… (SSE). Events, each with an id (`<server epoch>-<n>`), resumed by Last-Event-ID:
 *  - `snapshot` {kafka: Link, session: Session, tiles: Tile[]}   on connect and where a resume is impossible, once the
 *    topics have been read; until then, `link` only
 *  - `tiles` {tiles: Tile[], gone: string[]}                    changed tiles, removed machines; coalesced, at most about 4 events a second
 *  - `reasons` ReasonLists                                      of machines whose list of reasons is new or has changed
 *  - `entry` {machineId, entry: Entry}                          a new reason, or a new outcome of one
 *  - `note` {machineId, note: Note}
 *  - `link` {kafka: Link}                                       Kafka does not answer, or answers again
 *  - `session` {session: Session}                               a shift has begun, or the factories have changed
 *  - `: heartbeat` comment every 10 s
 */
export interface Link {
  state: 'restoring' | 'up' | 'down';
  since: number;
  problem: string | null;
  /**
   * Latest update of any machine. States whose observation is `ok` are known up to then; a machine that has become
   * stale since is reported within minutes. A change of this field alone is sent at most every 5 s.
   */
  knownUntil: number | null;
}

/** GET /api/machines/:machineId → MachineView (both shifts). */
export interface MachineView {
  tile: Tile;
  /** In time order; `revision` counts corrections; state is null where nothing is known. */
  periods: (Period & { state: MachineState | null; revision: number })[];
  settledUntil: number | null;
  entries: Entry[];
  /** Which reason applies when, by the service's rules, in time order; each is one of `entries`. */
  classifications: { entryId: string; startTime: number; endTime: number }[];
  notes: Note[];
  /** As the service lists them for this machine. */
  reasons: { code: string; name: string }[];
  /** Up to four codes, the most used first in the latest entries of this machine. */
  favourites: string[];
}

export interface Entry extends Period {
  /** The `message-id` header, a UUID made by the page; `<partition>-<offset>` for entries of other producers. */
  entryId: string;
  machineId: string;
  reasonId: string;
  /** The station that sent it; null for other producers. */
  station: string | null;
  operator: string | null;
  /** When it was written to its topic; for other producers, its `ce_time` if it has one. */
  sentAt: number;
  /** When the service accepted it; null until then. */
  appliedAt: number | null;
  /** sent: stored by Kafka, no outcome yet; deferred: waits for the service */
  status: 'sent' | 'deferred' | 'applied' | 'rejected';
  /** The bridge's code (docs/operations.md) and text, if rejected. */
  code: string | null;
  detail: string | null;
  /** A correction has moved the stop that the entry was for. */
  moved: boolean;
  source: { topic: string; partition: number; offset: string };
}

/**
 * GET /api/entries?ids=<entryId>,… → these entries and those that end them, also of removed machines. An entry that is
 * missing was written before the last shift, or has not been read yet. 503 while topics are being read.
 */
export interface Entries {
  entries: Entry[];
}

export interface Note extends Period {
  noteId: string;
  machineId: string;
  text: string;
  operator: string;
  station: string;
  at: number;
}

/**
 * POST /api/reasons {entries: NewEntry[]} (1..100) → 202 {results: {entryId, ok: true, source} | {entryId, ok: false,
 * code, message}}[] once Kafka has stored all of them (acks all); the same entryId again answers with the first place,
 * also after a restart. 409 code `over-operating` unless `overOperating: true` where the period overlaps OPERATING by
 * more than a minute. 503 + Retry-After while Kafka does not answer. POST /api/notes {notes: [...]} likewise.
 */
export interface NewEntry extends Made {
  entryId: string;
  reasonId: string;
  overOperating?: boolean;
}

interface Made extends Period {
  machineId: string;
  /**
   * The operator registered when it was entered; null for nobody. Absent (from earlier pages): the present one. A name
   * from a proxy takes precedence.
   */
  operator?: string | null;
  /** When it was entered, between 30 days ago and now; absent: now. */
  madeAt?: number;
}

/**
 * GET /api/hand-over?factoryId=&shift=0|1 → times with a reason, without one, and in short stops, of machines that
 * stopped or have notes.
 */
export interface HandOver {
  shift: { startTime: number; endTime: number };
  machines: {
    machineId: string;
    displayName: string;
    stoppedSeconds: number;
    /** In open stops. */
    unexplainedSeconds: number;
    /** Without a reason, in parts up to the threshold. */
    shortSeconds: number;
    /** Longest first. */
    reasons: { reasonId: string; seconds: number }[];
    openStops: OpenStop[];
    notes: Note[];
  }[];
}

/** GET /api/reasons?factoryId= → the reasons of every machine, for use offline; each list once. */
export interface ReasonLists {
  /** As the service lists them. */
  lists: { code: string; name: string }[][];
  /** By machineId; `list` is an index into `lists`; favourites as in {@link MachineView}. */
  machines: Record<string, { list: number; favourites: string[] }>;
}

/** POST /api/notes {notes: NewNote[]} (1..100) → 202 {results} as for reasons, with `noteId`. */
export interface NewNote extends Made {
  noteId: string;
  text: string;
}
