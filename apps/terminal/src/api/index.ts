/**
 * Requests, answers and events between the terminal's page and its server: types alone, which both import.
 * All times are epoch seconds of the plant's clock (see Session.clock) unless a name says otherwise.
 * Every request but GET carries `content-type: application/json` and `x-machine-terminal: 1`; errors are {code,
 * message} with 4xx/5xx.
 */

/**
 * GET /api/session → Session; 401 where a token is needed. POST /api/session {token} → Session + HttpOnly
 * SameSite=Strict cookie. DELETE /api/session.
 */
export interface Session {
  station: string;
  /** PUT /api/session/operator {operator: string | null}: registers who works here until the shift ends. */
  operator: string | null;
  /** IANA zone in which times are shown. */
  timeZone: string;
  /** now = epochSeconds + (real seconds since the answer) × speed. */
  clock: { epochSeconds: number; speed: number };
  stopThresholdSeconds: number;
  /** The current and the last shift, newest first. Moves on with an SSE `session` event. */
  shifts: { startTime: number; endTime: number }[];
  factories: { factoryId: string; factoryName: string }[];
  /** By code, from TERMINAL_REASONS_FILE; reasons not in it are shown with their own name, without group. */
  reasonLooks: Record<string, { group?: string; colour?: string; names?: Record<string, string> }>;
  groups: { group: string; colour?: string; names?: Record<string, string> }[];
}

export type MachineState = 'OPERATING' | 'IDLE' | 'OFF';
type Observation = 'ok' | 'noData' | 'stale' | 'unreachable' | 'forbidden';

/** A stretch of time, its end exclusive; endTime null: still going on. */
export interface Period {
  startTime: number;
  endTime: number | null;
}

/** What no applied or pending reason covers of a stop longer than the threshold. */
export interface OpenStop extends Period {
  state: 'IDLE' | 'OFF';
}

export interface Tile {
  machineId: string;
  displayName: string;
  factoryId: string;
  /** null before anything is known */
  state: MachineState | null;
  startTime: number | null;
  observation: Observation | 'unknown' | 'removed';
  /**
   * The state's latest update when it was last published, which is when it changed. While observation is `ok` it is
   * known for as long as {@link Link.knownUntil} says, if that is later.
   */
  knownUntil: number | null;
  /** The list last applied, its first 20; null where none is known. */
  workingOrders: string[] | null;
  openStops: OpenStop[];
  shortStops: { count: number; seconds: number };
  /** the open-ended reason in force now */
  goingOn: { entryId: string; reasonId: string; startTime: number } | null;
}

/**
 * GET /api/events?factoryId=… (SSE). Events, each with an id (`<server epoch>-<n>`), resumed by Last-Event-ID:
 *  - `snapshot` {kafka: Link, session: Session, tiles: Tile[]}   on connect and where a resume is impossible, once the
 *    topics have been read; before, `link` alone
 *  - `tiles` {tiles: Tile[], gone: string[]}                    what changed, coalesced to at most ~4 events a second
 *  - `reasons` ReasonLists                                      of machines whose reasons were read first, or changed
 *  - `entry` {machineId, entry: Entry}                          a reason or its answer changed
 *  - `note` {machineId, note: Note}
 *  - `link` {kafka: Link}                                       Kafka went away or came back
 *  - `session` {session: Session}                               a shift has begun, or factories are others
 *  - `: heartbeat` comment every 10 s
 */
export interface Link {
  state: 'restoring' | 'up' | 'down';
  since: number;
  problem: string | null;
  /**
   * Latest update of any machine: where observation is `ok`, states are known up to then. (A machine that has become
   * stale since is reported within minutes.) Sent with every `link` event, at most every 5 s for this alone.
   */
  knownUntil: number | null;
}

/** GET /api/machines/:machineId → MachineView (both shifts). */
export interface MachineView {
  tile: Tile;
  /** In time order, corrected `revision` times. state null: nothing known (hatched). */
  periods: (Period & { state: MachineState | null; revision: number })[];
  settledUntil: number | null;
  entries: Entry[];
  /** What reasons apply when, by the rules of the service, in time order; each is one of `entries`. */
  classifications: { entryId: string; startTime: number; endTime: number }[];
  notes: Note[];
  /** As the service lists them for this machine. */
  reasons: { code: string; name: string }[];
  /** Up to four codes, most used on this machine lately first. */
  favourites: string[];
}

export interface Entry extends Period {
  /** message-id header: a UUID the page made; else `<partition>-<offset>` for entries of other producers */
  entryId: string;
  machineId: string;
  reasonId: string;
  /** Which terminal sent it; null for other producers. */
  station: string | null;
  operator: string | null;
  /** When it was written to its topic; when it was entered is its `ce_time`. */
  sentAt: number;
  /** When the service took it; null before that. */
  appliedAt: number | null;
  /** sent = on Kafka, no answer yet; deferred = waits for the service */
  status: 'sent' | 'deferred' | 'applied' | 'rejected';
  /** Rejection code (docs/operations.md) and the bridge's words, where rejected. */
  code: string | null;
  detail: string | null;
  /** A correction of the log moved the stop this was for. */
  moved: boolean;
  source: { topic: string; partition: number; offset: string };
}

/**
 * GET /api/entries?ids=<entryId>,… → what became of these and of those that end them, whether or not their machines are
 * still there. One that is missing is not known: it was written before the last shift, or is about to be read. 503 while
 * topics are being read.
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
 * code, message}}[] once Kafka has them all (acks all); the same entryId again answers the first place (idempotent over
 * restarts). 409 code `over-operating` unless `overOperating: true` where the period overlaps OPERATING by more than a
 * minute. 503 + Retry-After while Kafka is away. POST /api/notes {notes: [...]} likewise.
 */
export interface NewEntry extends Made {
  entryId: string;
  reasonId: string;
  overOperating?: boolean;
}

interface Made extends Period {
  machineId: string;
  /**
   * Who worked here when it was entered; null: nobody was registered. Absent (of earlier pages): who does now. Where a
   * proxy names operators, its word counts.
   */
  operator?: string | null;
  /** When it was entered. Absent: now. Later than now counts as now; 30 days ago is the earliest. */
  madeAt?: number;
}

/**
 * GET /api/hand-over?factoryId=&shift=0|1 → minutes with a reason, without, and in short stops, of machines that stood
 * still or have notes.
 */
export interface HandOver {
  shift: { startTime: number; endTime: number };
  machines: {
    machineId: string;
    displayName: string;
    stoppedSeconds: number;
    /** In stops that need a reason: longer than the threshold. */
    unexplainedSeconds: number;
    /** Without a reason, in what is no longer than the threshold. */
    shortSeconds: number;
    /** Longest first. */
    reasons: { reasonId: string; seconds: number }[];
    openStops: OpenStop[];
    notes: Note[];
  }[];
}

/** GET /api/reasons?factoryId= → what every machine's reasons are, for a page that may go offline; each list once. */
export interface ReasonLists {
  /** As the service lists them. */
  lists: { code: string; name: string }[][];
  /** By machineId; `list` is an index into `lists`; favourites: up to four codes, most used there lately first. */
  machines: Record<string, { list: number; favourites: string[] }>;
}

/** POST /api/notes {notes: NewNote[]} (1..100) → 202 {results} as for reasons, with `noteId`. */
export interface NewNote extends Made {
  noteId: string;
  text: string;
}
