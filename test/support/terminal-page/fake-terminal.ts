import { existsSync, readFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { extname, join, normalize } from 'node:path';
import { anyFreePort } from '../../../tools/process/ports.mjs';
import type {
  Entry,
  HandOver,
  Link,
  MachineView,
  NewEntry,
  NewNote,
  Note,
  ReasonLists,
  Session,
  Tile,
} from '../../../apps/terminal/src/index.js';

const PAGE = join(import.meta.dirname, '../../../dist/apps/terminal/page');
const HEARTBEAT_MS = 5_000;
const TYPES: Record<string, string> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript',
  '.css': 'text/css',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.webmanifest': 'application/manifest+json',
};

export interface FakePlant {
  session: Session;
  tiles: Tile[];
  views: Map<string, MachineView>;
  reasons: ReasonLists;
}

/** The outcome of a reason after Kafka has stored it. */
type Verdict = Pick<Entry, 'status' | 'code' | 'detail'>;

export const APPLIED: Verdict = { status: 'applied', code: null, detail: null };

/**
 * A stand-in for the terminal's server, so that a test of the page decides what is answered and when: the stream can
 * break, Kafka can be away, an answer can be a refusal. It serves the built page with the real server's policy.
 */
export class FakeTerminal {
  /** Received bodies, with repetitions. */
  readonly posts: NewEntry[][] = [];
  readonly notes: NewNote[] = [];
  readonly operators: (string | null)[] = [];
  streams = 0;
  /** The Last-Event-ID of each opened stream. */
  readonly resumedFrom: (string | undefined)[] = [];
  /** undefined: the entry stays sent */
  verdict: Verdict | undefined = APPLIED;
  /** Codes of refused entries, by the reason's code. */
  readonly refusals = new Map<string, string>();
  token: string | null = null;
  /** Whether a proxy names the operator. */
  isOperatorNamed = false;
  /** Seconds for which tokens are refused after wrong ones; 0: none. */
  wrongTokensWaitSeconds = 0;
  /** The status with which a request with such entries is refused as a whole; undefined: it is accepted. */
  refusesRequest: (entries: readonly NewEntry[]) => number | 'foreign-origin' | undefined = () =>
    undefined;
  /** false: notes are accepted but not shown, like those of another factory */
  showsNotes = true;
  /** Nothing gets through, though streams stay open: as for a tablet out of reach of its Wi-Fi. */
  isCut = false;
  /** Requests for the reasons of machines are not answered before this promise resolves. */
  reasonsHeld: Promise<unknown> = Promise.resolve();
  /** Requests that get the answer of a proxy whose server is under maintenance. */
  fails: (path: string, method: string | undefined) => boolean = () => false;
  /** The answer of a proxy, which has ended its sign-in, instead of the server's. */
  proxy: 'a redirect' | 'an error' | 'a page' | 'an object' | 'an array' | undefined;
  /** The text instead of the page itself: a proxy may let files through, and ask for a sign-in. */
  frontPage: string | undefined;
  /** The release of the service worker, which changes with a new page. */
  release = 1;
  private link: Link;
  private readonly entries = new Map<string, Entry>();
  private readonly listeners = new Set<ServerResponse>();
  private readonly sockets = new Set<Socket>();
  private eventCount = 0;
  private port = 0;
  private server = createServer();
  private signedIn = false;
  private heartbeats: NodeJS.Timeout | undefined;

  constructor(public plant: FakePlant) {
    const since = plant.session.clock.epochSeconds;
    this.link = { state: 'up', since, problem: null, knownUntil: null };
  }

  async listen(): Promise<void> {
    this.server = createServer((request, response) => {
      this.handle(request, response).catch((error: unknown) => {
        response.writeHead(500).end(String(error));
      });
    });
    this.server.on('connection', (socket) => {
      this.sockets.add(socket);
      socket.on('close', () => this.sockets.delete(socket));
    });
    // a port that nobody else gets while the server is away
    this.port ||= await anyFreePort();
    await new Promise<void>((resolve) => this.server.listen(this.port, '127.0.0.1', resolve));
    this.heartbeats = setInterval(() => this.write(': heartbeat\n\n'), HEARTBEAT_MS);
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}/`;
  }

  /** The number of open streams. */
  get following(): number {
    return this.listeners.size;
  }

  /** Ends at once, as with a pulled cable; {@link listen} brings it back on the same port. */
  async close(): Promise<void> {
    clearInterval(this.heartbeats);
    const closed = new Promise((resolve) => this.server.close(resolve));
    for (const socket of this.sockets) socket.destroy();
    this.listeners.clear();
    await closed;
  }

  breakStreams(): void {
    for (const response of this.listeners) response.destroy();
  }

  setLink(state: Link['state'], knownUntil: number | null = null): void {
    this.link = { ...this.link, state, knownUntil };
    this.pushEvent('link', { kafka: this.link });
  }

  /** Sends the session, as at the end of a shift. */
  sendSession(): void {
    this.pushEvent('session', { session: this.plant.session });
  }

  changeTiles(...tiles: Tile[]): void {
    for (const tile of tiles) {
      const index = this.plant.tiles.findIndex(({ machineId }) => machineId === tile.machineId);
      if (index < 0) this.plant.tiles.push(tile);
      else this.plant.tiles[index] = tile;
      const view = this.plant.views.get(tile.machineId);
      if (view) view.tile = tile;
    }
    this.pushEvent('tiles', { tiles, gone: [] });
  }

  removeMachine(machineId: string): void {
    this.plant.tiles = this.plant.tiles.filter((tile) => tile.machineId !== machineId);
    this.pushEvent('tiles', { tiles: [], gone: [machineId] });
  }

  changeReasons(reasons: ReasonLists): void {
    this.plant.reasons = reasons;
    this.pushEvent('reasons', reasons);
  }

  tileOf(machineId: string): Tile {
    const tile = this.plant.tiles.find((candidate) => candidate.machineId === machineId);
    if (!tile) throw new Error(`the fake plant has no machine ${machineId}`);
    return tile;
  }

  viewOf(machineId: string): MachineView {
    const { views, reasons } = this.plant;
    const tile = this.tileOf(machineId);
    const { list = 0, favourites = [] } = reasons.machines[machineId] ?? {};
    const view = views.get(machineId) ?? {
      tile,
      periods: [],
      settledUntil: null,
      entries: [],
      classifications: [],
      notes: [],
      reasons: reasons.lists[list] ?? [],
      favourites,
    };
    views.set(machineId, view);
    return view;
  }

  /** Ends the session that was opened with the token. */
  expireSession(): void {
    this.signedIn = false;
  }

  /** Publishes the bridge's answer to a reason. */
  answer(entryId: string, verdict: Verdict): void {
    const known = this.entries.get(entryId);
    if (!known) throw new Error(`the fake terminal has no entry ${entryId}`);
    this.takeEntry({ ...known, ...verdict });
  }

  /** Forgets an entry, as if it was written before the last shift. */
  forget(entryId: string): void {
    this.entries.delete(entryId);
  }

  /** Publishes an entry; by default an applied one of a station. */
  takeEntry(given: Omit<NewEntry, 'operator'> & Partial<Entry>): void {
    const { epochSeconds: now } = this.plant.session.clock;
    const entry: Entry = {
      ...{ station: 'Line 2', operator: null, sentAt: now, appliedAt: now, ...APPLIED },
      ...{ moved: false, source: { topic: 't', partition: 0, offset: '1' }, ...given },
    };
    this.entries.set(entry.entryId, entry);
    const view = this.viewOf(entry.machineId);
    view.entries = [...view.entries.filter(({ entryId }) => entryId !== entry.entryId), entry];
    const shiftEnd = this.plant.session.shifts[0]?.endTime ?? 0;
    view.classifications = view.entries
      .filter(({ status }) => status !== 'rejected')
      .map(({ entryId, startTime, endTime }) => ({
        entryId,
        startTime,
        endTime: endTime ?? shiftEnd,
      }));
    this.pushEvent('entry', { machineId: entry.machineId, entry });
  }

  private pushEvent(event: string, data: unknown): void {
    this.write(`id: fake-${++this.eventCount}\nevent: ${event}\ndata: ${JSON.stringify(data)}\n\n`);
  }

  private write(text: string): void {
    if (this.isCut) return;
    for (const response of this.listeners) response.write(text);
  }

  private async handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname, searchParams } = new URL(request.url ?? '/', this.url);
    if (pathname === '/sign-in') {
      this.proxy = undefined;
      response.writeHead(302, { location: '/' }).end();
      return;
    }
    if (this.fails(pathname, request.method)) {
      response.writeHead(503, { 'retry-after': '3600' }).end();
      return;
    }
    if (pathname === '/' && this.frontPage !== undefined) {
      response.writeHead(200, { 'content-type': 'text/html' }).end(this.frontPage);
      return;
    }
    if (!pathname.startsWith('/api/')) {
      sendPage(pathname, response, pathname === '/sw.js' ? `// ${this.release}` : undefined);
      return;
    }
    if (this.proxy !== undefined) {
      const [status, body] = (
        {
          'a redirect': [302, ''],
          'an error': [401, ''],
          'a page': [200, '<p>'],
          'an object': [200, '{}'],
          'an array': [200, '[]'],
        } as const
      )[this.proxy];
      const type = body.startsWith('<') ? 'text/html' : 'application/json';
      response.writeHead(status, { location: '/login', 'content-type': type }).end(body);
      return;
    }
    if (this.isCut) {
      request.socket.destroy();
      return;
    }
    const json = (status: number, body: unknown): void => {
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    };
    const body = request.method === 'GET' ? {} : await readJson(request);
    if (request.method !== 'GET' && request.headers['x-machine-terminal'] !== '1') {
      json(403, { code: 'forbidden', message: 'the header x-machine-terminal is missing' });
      return;
    }
    const [, , room, id] = pathname.split('/');
    const { session } = this.plant;
    if (`${request.method} ${room}` === 'POST session') {
      this.signedIn = body['token'] === this.token;
      if (!this.signedIn && this.wrongTokensWaitSeconds > 0) {
        response.setHeader('retry-after', String(this.wrongTokensWaitSeconds));
        json(429, { code: 'too-many', message: 'too many wrong tokens from this address' });
        return;
      }
      json(
        this.signedIn ? 200 : 401,
        this.signedIn ? session : { code: 'unknown-token', message: 'no' },
      );
      return;
    }
    if (this.token !== null && !this.signedIn) {
      json(401, { code: 'unauthorised', message: 'a token is needed' });
      return;
    }
    switch (`${request.method} ${room}`) {
      case 'GET session':
        json(200, session);
        return;
      case 'DELETE session':
        this.signedIn = false;
        response.writeHead(204).end();
        return;
      case 'PUT session':
        if (this.isOperatorNamed) {
          json(409, { code: 'operator-by-proxy', message: 'the proxy says who works here' });
          return;
        }
        session.operator = (body['operator'] as string | null) ?? null;
        this.operators.push(session.operator);
        json(200, session);
        return;
      case 'GET events':
        this.follow(request, response, searchParams.get('factoryId'));
        return;
      case 'GET reasons':
        await this.reasonsHeld;
        json(200, this.plant.reasons);
        return;
      case 'GET entries': {
        const ids = searchParams.get('ids')?.split(',') ?? [];
        json(200, { entries: ids.flatMap((each) => this.entries.get(each) ?? []) });
        return;
      }
      case 'GET machines': {
        const machineId = decodeURIComponent(id ?? '');
        if (this.plant.tiles.some((tile) => tile.machineId === machineId))
          json(200, this.viewOf(machineId));
        else json(404, { code: 'unknown-machine', message: machineId });
        return;
      }
      case 'GET hand-over':
        json(200, this.handOver(Number(searchParams.get('shift') ?? 0)));
        return;
      case 'POST reasons':
        if (this.link.state !== 'up') {
          response.setHeader('retry-after', '1');
          json(503, { code: 'kafka-away', message: 'Kafka is away' });
          return;
        }
        this.takeReasons(body['entries'] as NewEntry[], json);
        return;
      case 'POST notes':
        json(202, { results: (body['notes'] as NewNote[]).map((note) => this.takeNote(note)) });
        return;
      default:
        json(404, { code: 'not-found', message: pathname });
    }
  }

  private follow(
    request: IncomingMessage,
    response: ServerResponse,
    factoryId: string | null,
  ): void {
    this.streams++;
    this.resumedFrom.push(request.headers['last-event-id'] as string | undefined);
    response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store' });
    this.listeners.add(response);
    response.on('close', () => this.listeners.delete(response));
    const tiles = this.plant.tiles.filter(
      (tile) => factoryId === null || tile.factoryId === factoryId,
    );
    const whole = { kafka: this.link, session: this.plant.session, tiles };
    const [event, data] =
      this.link.state === 'restoring' ? ['link', { kafka: this.link }] : ['snapshot', whole];
    response.write(
      `id: fake-${++this.eventCount}\nevent: ${event}\ndata: ${JSON.stringify(data)}\n\n`,
    );
  }

  private takeReasons(entries: NewEntry[], json: (status: number, body: unknown) => void): void {
    const refusal = this.refusesRequest(entries);
    if (refusal !== undefined) {
      if (refusal === 403) json(403, 'a page of a proxy');
      else if (refusal === 'foreign-origin') json(403, { code: refusal, message: 'no' });
      else json(refusal, { code: 'too-large', message: 'no' });
      return;
    }
    this.posts.push(entries);
    json(202, { results: entries.map((entry) => this.take(entry)) });
  }

  private take(entry: NewEntry): { entryId: string; ok: boolean; code?: string; message?: string } {
    const code = this.refusals.get(entry.reasonId);
    if (code !== undefined && !(code === 'over-operating' && entry.overOperating === true)) {
      return { entryId: entry.entryId, ok: false, code, message: code };
    }
    if (!this.entries.has(entry.entryId)) {
      const { station, operator } = this.plant.session;
      const { entryId, machineId, reasonId, startTime, endTime } = entry;
      this.takeEntry({
        ...{ entryId, machineId, reasonId, startTime, endTime },
        ...{ station, operator, status: 'sent', appliedAt: null },
      });
      const tile = this.tileOf(machineId);
      const openStops = tile.openStops.filter(
        (stop) =>
          stop.startTime < entry.startTime ||
          (entry.endTime !== null && stop.startTime >= entry.endTime),
      );
      this.changeTiles({ ...tile, openStops });
      if (this.verdict) this.answer(entryId, this.verdict);
    }
    return { entryId: entry.entryId, ok: true };
  }

  private takeNote(wanted: NewNote): { noteId: string; ok: boolean } {
    const { station, operator, clock } = this.plant.session;
    const note: Note = { ...wanted, operator: operator ?? '', station, at: clock.epochSeconds };
    this.notes.push(wanted);
    if (!this.showsNotes) return { noteId: wanted.noteId, ok: true };
    this.viewOf(wanted.machineId).notes.push(note);
    this.pushEvent('note', { machineId: wanted.machineId, note });
    return { noteId: wanted.noteId, ok: true };
  }

  private handOver(index: number): HandOver {
    const shift = this.plant.session.shifts[index] ?? { startTime: 0, endTime: 0 };
    const now = this.plant.session.clock.epochSeconds;
    const machines = this.plant.tiles.map((tile) => {
      const { entries, notes } = this.viewOf(tile.machineId);
      const unexplainedSeconds = tile.openStops.reduce(
        (sum, { startTime, endTime }) => sum + (endTime ?? now) - startTime,
        0,
      );
      const reasons = entries.map(({ reasonId, startTime, endTime }) => ({
        reasonId,
        seconds: (endTime ?? now) - startTime,
      }));
      const stoppedSeconds = reasons.reduce(
        (sum, { seconds }) => sum + seconds,
        unexplainedSeconds + tile.shortStops.seconds,
      );
      const { machineId, displayName, openStops } = tile;
      return {
        machineId,
        displayName,
        stoppedSeconds,
        unexplainedSeconds,
        shortSeconds: tile.shortStops.seconds,
        reasons,
        openStops,
        notes,
      };
    });
    const isListed = ({ stoppedSeconds, notes }: (typeof machines)[number]): boolean =>
      stoppedSeconds > 0 || notes.length > 0;
    return { shift, machines: machines.filter(isListed) };
  }
}

/** @param foot text after the file's */
function sendPage(pathname: string, response: ServerResponse, foot = ''): void {
  const file = join(PAGE, normalize(pathname === '/' ? '/index.html' : pathname));
  if (!existsSync(file)) {
    response.writeHead(404).end();
    return;
  }
  response.writeHead(200, {
    'content-type': TYPES[extname(file)] ?? 'application/octet-stream',
    'content-security-policy':
      "default-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'",
    'cache-control': 'no-cache',
  });
  response.end(Buffer.concat([readFileSync(file), Buffer.from(foot)]));
}

async function readJson(request: IncomingMessage): Promise<Record<string, unknown>> {
  let text = '';
  for await (const chunk of request as AsyncIterable<Buffer>) text += chunk.toString();
  return JSON.parse(text) as Record<string, unknown>;
}
