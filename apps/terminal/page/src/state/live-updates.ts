/**
 * Reads the server's event stream into the store: connected while the page is open, resumed by Last-Event-ID, applied
 * at most once a frame. EventSource reports neither heartbeats (without which a dead Wi-Fi goes unnoticed for minutes)
 * nor the status of an answer.
 */
import { batch, signal } from '@preact/signals';
import type {
  Entries,
  Entry,
  Link,
  Note,
  ReasonLists,
  Session,
  Tile,
} from '../../../src/api/index.js';
import { backOffMs, call, failureOf, unansweredAtMs } from './api-client.js';
import { createEventParser, type StreamEvent } from '../model/event-stream.js';
import { awaitsOutcome } from '../model/outgoing.js';
import { withReasons } from '../model/reason-choices.js';
import { nowMs, onClockJump, plantSeconds } from './clock.js';
import { outgoing, sendSoon, applyAnswers } from './outbox.js';
import * as store from './store.js';

/** The server sends a heartbeat every 10 s. */
const SILENCE_MS = 15_000;
/** A stream that ends after this time was cut by a proxy, or its server restarts. */
const LASTED_MS = 10_000;
const MAX_RETRY_MS = 15_000;
/** Without HTTP/2 a browser has six connections to a server: hidden tabs must leave some for sending. */
const HIDDEN_MS = 30_000;
const REASONS_EVERY_MS = 300_000;
const ANSWERS_EVERY_MS = 20_000;
/** Their ids make 4 kB of URL. */
const ASKED_AT_ONCE = 100;

type Update =
  | { event: 'snapshot'; data: { kafka: Link; session: Session; tiles: Tile[] } }
  | { event: 'tiles'; data: { tiles: Tile[]; gone: string[] } }
  | { event: 'reasons'; data: ReasonLists }
  | { event: 'entry'; data: { machineId: string; entry: Entry } }
  | { event: 'note'; data: { machineId: string; note: Note } }
  | { event: 'link'; data: { kafka: Link } }
  | { event: 'session'; data: { session: Session } };

let lastEventId: string | null = null;
/** Ends the stream; another one begins at once. */
let reconnect = new AbortController();
/** Ends a silent stream; the next one begins after a back-off. */
let streamLost = new AbortController();
/** The page has been hidden for a while, and holds no stream until it is visible again. */
let isSuspended = false;
let heardAtMs = 0;
/** When the present stream began; Infinity before. */
let openedAtMs = Infinity;
/** The session when the present stream was requested; null once the stream has brought one. */
let sessionAtRequest: Session | null = null;
/** Machines that have changed, or may have. */
export const changedMachines = signal<{ machineIds: ReadonlySet<string> | 'all' }>({
  machineIds: new Set(),
});

export function startLiveUpdates(): void {
  store.factoryId.subscribe(restartStream);
  // resuming would not send the plant's time, with which a snapshot begins
  onClockJump(restartStream);
  store.signInNeeded.subscribe((needed) => {
    // after a sign-out the stream would continue; a sign-in may also be another tab's
    if (needed || store.connection.peek().state !== 'live') reconnect.abort();
  });
  window.addEventListener('online', () => reconnect.abort());
  window.addEventListener('offline', () => streamLost.abort());
  let hidden = 0;
  const seenOrHidden = (): void => {
    clearTimeout(hidden);
    isSuspended = false;
    if (document.hidden) hidden = setTimeout(suspendStream, HIDDEN_MS);
  };
  document.addEventListener('visibilitychange', seenOrHidden);
  seenOrHidden();
  window.addEventListener('storage', ({ key, newValue }) => {
    if (key === store.SESSION_KEY) store.adoptSession(newValue);
  });
  unansweredAtMs.subscribe((sentAtMs) => {
    if (sentAtMs > heardAtMs) streamLost.abort();
  });
  setInterval(() => void loadReasons(), REASONS_EVERY_MS);
  setInterval(() => {
    void askForAnswers();
    // without the lists no reason can be entered
    if (store.reasonLists.peek() === null) void loadReasons();
  }, ANSWERS_EVERY_MS);
  void stayConnected();
}

function restartStream(): void {
  lastEventId = null;
  reconnect.abort();
}

function suspendStream(): void {
  isSuspended = true;
  if (store.connection.peek().state === 'live')
    store.connection.value = { state: 'connecting', since: plantSeconds() };
  reconnect.abort();
}

async function stayConnected(): Promise<never> {
  let failures = 0;
  for (;;) {
    if (isSuspended) await untilVisible();
    reconnect = new AbortController();
    openedAtMs = Infinity;
    const retryAfterMs = await followStream(reconnect.signal).catch(() => 0);
    if (reconnect.signal.aborted) {
      failures = 0;
      continue;
    }
    if (nowMs() - openedAtMs > LASTED_MS) {
      failures = 0;
      // only its age ended it: the next attempt shows whether the server answers
      if (!streamLost.signal.aborted) continue;
    }
    if (store.connection.peek().state !== 'offline')
      store.connection.value = { state: 'offline', since: plantSeconds() };
    await pause(Math.max(backOffMs(failures++, MAX_RETRY_MS), retryAfterMs), reconnect.signal);
  }
}

function untilVisible(): Promise<unknown> {
  return new Promise((seen) => document.addEventListener('visibilitychange', seen, { once: true }));
}

/** Follows one connection to its end; returns how long the server asks to wait before the next one. */
async function followStream(signal: AbortSignal): Promise<number> {
  const factory = store.factoryId.peek();
  const path =
    factory === null ? '/api/events' : `/api/events?factoryId=${encodeURIComponent(factory)}`;
  const ending = (streamLost = new AbortController());
  // AbortSignal.any came in 2024; tablets are older
  signal.addEventListener('abort', () => ending.abort());
  const heard = (): void => {
    heardAtMs = nowMs();
    clearTimeout(timer);
    timer = setTimeout(() => ending.abort(), SILENCE_MS);
  };
  let timer = 0;
  heard();
  sessionAtRequest = store.session.peek();
  // of the former stream: this one brings them again
  waitingEvents.length = 0;
  try {
    const response = await fetch(path, {
      headers: {
        accept: 'text/event-stream',
        ...(lastEventId === null ? {} : { 'last-event-id': lastEventId }),
      },
      signal: ending.signal,
      cache: 'no-store',
      redirect: 'manual',
    });
    // a proxy may answer with its own page
    const isStream = response.headers.get('content-type')?.startsWith('text/event-stream') === true;
    if (!isStream || !response.body) {
      const failure = await failureOf(response);
      lastEventId = null;
      return failure.kind === 'signIn' ? MAX_RETRY_MS : failure.retryAfterMs;
    }
    const parse = createEventParser();
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    streamOpened();
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return 0;
      heard();
      enqueueEvents(parse(value));
    }
  } finally {
    clearTimeout(timer);
  }
}

function streamOpened(): void {
  openedAtMs = nowMs();
  const wasOffline = store.connection.peek().state === 'offline';
  batch(() => {
    store.signInNeeded.value = false;
    store.connection.value = { state: 'live', since: plantSeconds() };
  });
  changedMachines.value = { machineIds: 'all' };
  if (wasOffline) sendSoon();
}

/** As many tiles as a slow tablet draws within a frame. */
const TILES_A_FRAME = 100;
const waitingEvents: { id: string | null; update: Update }[] = [];
let frame = 0;

/**
 * Applies the events of one frame together; those whose tiles would exceed TILES_A_FRAME wait for the next frames: a
 * tap must not wait for 500 of them. A hidden page has no frames, and applies everything at once.
 */
function enqueueEvents(events: readonly StreamEvent[]): void {
  if (events.length === 0) return;
  for (const { id, event, data } of events)
    waitingEvents.push({ id, update: { event, data: JSON.parse(data) as unknown } as Update });
  if (document.hidden) {
    cancelAnimationFrame(frame);
    applyWaiting();
  } else if (frame === 0) {
    frame = requestAnimationFrame(applyWaiting);
  }
}

function applyWaiting(): void {
  const events = waitingEvents.splice(0, document.hidden ? Infinity : countForFrame());
  frame = waitingEvents.length > 0 ? requestAnimationFrame(applyWaiting) : 0;
  const machineIds = new Set<string>();
  const answers: Entry[] = [];
  batch(() => {
    for (const { id, update } of events) {
      if (id !== null) lastEventId = id;
      applyUpdate(update, machineIds, answers);
    }
  });
  if (answers.length > 0) void applyAnswers(answers);
  if (machineIds.size > 0) changedMachines.value = { machineIds };
}

/** Events for one frame, at least one: the server puts few tiles into each. */
function countForFrame(): number {
  let tiles = 0;
  const tooMany = waitingEvents.findIndex(({ update }, index) => {
    if (update.event === 'tiles') tiles += update.data.tiles.length;
    return index > 0 && tiles > TILES_A_FRAME;
  });
  return tooMany < 0 ? waitingEvents.length : tooMany;
}

function applyUpdate(update: Update, machineIds: Set<string>, answers: Entry[]): void {
  switch (update.event) {
    case 'snapshot':
      store.setSession(withLaterOperator(update.data.session));
      store.link.value = update.data.kafka;
      store.noteHeard();
      store.replaceTiles(update.data.tiles);
      changedMachines.value = { machineIds: 'all' };
      void loadReasons();
      // entries that were answered meanwhile are not in the snapshot
      void askForAnswers();
      sendSoon();
      return;
    case 'tiles':
      store.changeTiles(update.data.tiles, update.data.gone);
      for (const { machineId } of update.data.tiles) machineIds.add(machineId);
      return;
    case 'reasons':
      store.reasonLists.value = withReasons(store.reasonLists.peek(), update.data);
      for (const since of receivedMeanwhile) since.push(update.data);
      for (const machineId of Object.keys(update.data.machines)) machineIds.add(machineId);
      return;
    case 'entry':
      answers.push(update.data.entry);
      machineIds.add(update.data.machineId);
      return;
    case 'note':
      machineIds.add(update.data.machineId);
      return;
    case 'link': {
      const wasUp = store.link.peek()?.state === 'up';
      store.link.value = update.data.kafka;
      store.noteHeard();
      // a link event every few seconds only updates `knownUntil`: no reason to retry early
      if (!wasUp && update.data.kafka.state === 'up') sendSoon();
      return;
    }
    case 'session':
      store.setSession(withLaterOperator(update.data.session));
      return;
    default:
      // an event of a newer server
      update satisfies never;
  }
}

/**
 * The server knows the operator of the stream's cookie; one registered since is known only here, even if the stream
 * brings the new shift's session only after that.
 */
function withLaterOperator(received: Session): Session {
  const known = store.session.peek();
  const isOfRequest = known === sessionAtRequest;
  sessionAtRequest = null;
  const isSameShift = known?.shifts[0]?.startTime === received.shifts[0]?.startTime;
  if (!known || !isSameShift || isOfRequest) return received;
  return { ...received, operator: known.operator };
}

/** For each `GET /api/reasons` in progress, the lists received meanwhile: its answer may be older. */
const receivedMeanwhile = new Set<ReasonLists[]>();

/** Resolves once the names of reasons are known, or a request for them has failed. */
export function reasonsLoaded(): Promise<void> {
  return store.reasonLists.peek() === null ? loadReasons() : Promise.resolve();
}

async function loadReasons(): Promise<void> {
  const received: ReasonLists[] = [];
  receivedMeanwhile.add(received);
  const answer = await call<ReasonLists>('GET', '/api/reasons', 'lists');
  receivedMeanwhile.delete(received);
  if (answer.ok) store.reasonLists.value = received.reduce(withReasons, answer.value);
}

/** Asks for missing outcomes of entries: after a gap in the stream, or of machines of another factory. */
async function askForAnswers(): Promise<void> {
  if (store.connection.peek().state !== 'live') return;
  const ids = outgoing
    .peek()
    .filter(awaitsOutcome)
    .map(({ id }) => id);
  for (let start = 0; start < ids.length; start += ASKED_AT_ONCE) {
    const asked = ids.slice(start, start + ASKED_AT_ONCE);
    const answer = await call<Entries>('GET', `/api/entries?ids=${asked.join()}`, 'entries');
    if (answer.ok) await applyAnswers(answer.value.entries, asked);
  }
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener('abort', () => {
      clearTimeout(timer);
      resolve();
    });
  });
}
