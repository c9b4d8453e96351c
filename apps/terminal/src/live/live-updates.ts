import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { Clock, everyRealMs, realNowMs } from '#libs/clock';
import { StationAccess } from '../access/station-access.js';
import type { Link } from '../api/index.js';
import { PlantFeed } from '../kafka/plant-feed.js';
import { FollowUps } from '../kafka/follow-ups.js';
import { EntryWriter } from '../kafka/entry-writer.js';
import { type Machine, Plant } from '../plant/index.js';
import { EventStream, StreamChunk, type StreamClient } from './event-stream.js';

/** Interval of publishing, for about four events a second. */
const TICK_MS = 250;
const HEARTBEAT_MS = 10_000;
/** How often `knownUntil` alone is published. */
const KNOWN_UNTIL_MS = 5000;
/** Pages that connect together, as after a power cut, share a snapshot for this long. */
const SNAPSHOT_LASTS_MS = 1000;
/** Few enough for a slow tablet to draw within a frame. */
const MACHINES_PER_EVENT = 100;

interface TilesAsOf {
  sequence: number;
  atMs: number;
  chunk: StreamChunk;
}

/** Publishes changes to pages four times a second, each serialised once for all of them. */
@Injectable()
export class LiveUpdates implements OnApplicationShutdown {
  readonly stream = new EventStream();
  private readonly snapshots = new Map<string | null, TilesAsOf>();
  private stopTicking: (() => void)[] = [];
  private publishedLink:
    { link: PlantFeed['link']; knownUntil: number | null; atMs: number } | undefined;
  private wasRestored = false;
  /** As sent to pages. */
  private session = { shiftStart: 0, factories: '' };

  constructor(
    private readonly clock: Clock,
    private readonly plant: Plant,
    private readonly feed: PlantFeed,
    private readonly writer: EntryWriter,
    private readonly followUps: FollowUps,
    private readonly access: StationAccess,
  ) {}

  startPublishing(): void {
    this.stopTicking = [
      everyRealMs(TICK_MS, () => this.tick()),
      everyRealMs(HEARTBEAT_MS, () => this.stream.sendHeartbeats()),
    ];
  }

  onApplicationShutdown(): void {
    for (const stop of this.stopTicking) stop();
    this.stream.destroyClients();
  }

  /** Sends a page the events it has missed, or a snapshot; while topics are being read, `link` alone. */
  connectPage(client: StreamClient, lastEventId: string | undefined): void {
    if (this.feed.isRestored && !this.wasRestored) this.sendFirstSnapshots();
    const { latestSequence: latest } = this.stream;
    if (!this.wasRestored) {
      this.stream.addClient(
        client,
        [this.stream.formatEvent('link', latest, { kafka: this.link })],
        latest,
      );
      return;
    }
    const seen = this.stream.sequenceOf(lastEventId);
    if (seen !== undefined) this.stream.addClient(client, [], seen);
    else {
      const tiles = this.tilesAsOfNow(client.factoryId);
      this.stream.addClient(client, this.snapshot(client, tiles), tiles.sequence);
    }
  }

  private tick(): void {
    const now = this.clock.nowSeconds();
    this.publishLink();
    // the records that the topics held at the start are published as one snapshot
    if (!this.feed.isRestored) return;
    if (!this.wasRestored) this.sendFirstSnapshots();
    this.publishSessions(now);
    this.plant.markDue(now);
    const { machineIds, reasons, entries, notes, leftFactories } = this.plant.takeChanges();
    // before their tiles: pages of all factories receive both
    for (const { machineId, factoryId } of leftFactories) {
      this.stream.publishEvent('tiles', factoryId, { tiles: [], gone: [machineId] });
    }
    this.publishTiles(machineIds, now);
    this.publishReasons(reasons);
    for (const entry of entries) {
      const { machineId } = entry;
      this.stream.publishEvent('entry', this.factoryOf(machineId), { machineId, entry });
    }
    for (const note of notes) {
      const { machineId } = note;
      this.stream.publishEvent('note', this.factoryOf(machineId), { machineId, note });
    }
    this.writer.forgetReadBack();
    this.followUps.sendDueFollowUps(machineIds, now);
  }

  private publishLink(): void {
    const { link } = this.feed;
    const { knownUntil } = this.plant;
    const published = this.publishedLink;
    const nowMs = realNowMs();
    const isDue =
      published?.knownUntil !== knownUntil && nowMs - (published?.atMs ?? 0) >= KNOWN_UNTIL_MS;
    if (link === published?.link && !isDue) return;
    this.publishedLink = { link, knownUntil, atMs: nowMs };
    this.stream.publishEvent('link', null, { kafka: this.link });
  }

  private get link(): Link {
    return { ...this.feed.link, knownUntil: this.plant.knownUntil };
  }

  /** Sends every page a snapshot and drops the changes that it contains; pages that reconnect get one, too. */
  private sendFirstSnapshots(): void {
    this.wasRestored = true;
    this.session = this.sessionAsOf(this.clock.nowSeconds());
    this.stream.dropKeptEvents();
    this.plant.takeChanges();
    this.snapshots.clear();
    this.stream.sendIndividually((client) =>
      this.snapshot(client, this.tilesAsOfNow(client.factoryId)),
    );
  }

  /** Sends pages their session when a shift has begun, or a factory was added, removed or renamed. */
  private publishSessions(now: number): void {
    const before = this.session;
    this.session = this.sessionAsOf(now);
    const isShiftOver = this.session.shiftStart !== before.shiftStart;
    if (!isShiftOver && this.session.factories === before.factories) return;
    if (isShiftOver) this.plant.forgetRecordsBefore(this.plant.shifts(now)[1].startTime);
    // each page has a session of its own, so no event is kept
    this.stream.dropKeptEvents();
    this.stream.sendIndividually((client) => {
      const session = this.access.sessionFor(client.identity());
      return [this.stream.formatEvent('session', this.stream.latestSequence, { session })];
    });
  }

  private sessionAsOf(now: number): { shiftStart: number; factories: string } {
    const [{ startTime }] = this.plant.shifts(now);
    return { shiftStart: startTime, factories: JSON.stringify(this.plant.factories()) };
  }

  private publishTiles(machineIds: ReadonlySet<string>, now: number): void {
    const gone = [...machineIds].filter((id) => this.factoryOf(id) === null);
    if (gone.length > 0) this.stream.publishEvent('tiles', null, { tiles: [], gone });
    for (const [factoryId, machines] of this.byFactoryInParts(machineIds)) {
      const tiles = machines.map((machine) => this.plant.evaluationOf(machine, now).tile);
      this.stream.publishEvent('tiles', factoryId, { tiles, gone: [] });
    }
  }

  private publishReasons(machineIds: ReadonlySet<string>): void {
    for (const [factoryId, machines] of this.byFactoryInParts(machineIds)) {
      this.stream.publishEvent('reasons', factoryId, this.plant.reasonListsOf(machines));
    }
  }

  /** Listed machines by factory, in parts of at most the size of an event. */
  private *byFactoryInParts(machineIds: ReadonlySet<string>): Generator<[string, Machine[]]> {
    const byFactory = new Map<string, Machine[]>();
    for (const machineId of machineIds) {
      const machine = this.plant.machines.get(machineId);
      if (machine?.isListed !== true) continue;
      const machines = byFactory.get(machine.factoryId) ?? [];
      byFactory.set(machine.factoryId, machines);
      machines.push(machine);
    }
    for (const [factoryId, machines] of byFactory) {
      while (machines.length > 0) yield [factoryId, machines.splice(0, MACHINES_PER_EVENT)];
    }
  }

  private factoryOf(machineId: string): string | null {
    const machine = this.plant.machines.get(machineId);
    return machine?.isListed === true ? machine.factoryId : null;
  }

  private snapshot(
    { identity }: StreamClient,
    { sequence, chunk }: TilesAsOf,
  ): readonly StreamChunk[] {
    const own = { kafka: this.link, session: this.access.sessionFor(identity()) };
    // {"kafka":…,"session":…,"tiles":…}: all pages share the tiles
    const head = `${this.stream.eventHead('snapshot', sequence)}${JSON.stringify(own).slice(0, -1)},"tiles":`;
    return [new StreamChunk(head), chunk, new StreamChunk('}\n\n')];
  }

  private tilesAsOfNow(factoryId: string | null): TilesAsOf {
    const before = this.snapshots.get(factoryId);
    const nowMs = realNowMs();
    const isUsable =
      before !== undefined &&
      nowMs - before.atMs < SNAPSHOT_LASTS_MS &&
      this.stream.isKept(before.sequence);
    if (isUsable) return before;
    const now = this.clock.nowSeconds();
    const tiles = this.plant
      .listedMachines(factoryId)
      .map((machine) => this.plant.evaluationOf(machine, now).tile);
    const chunk = new StreamChunk(JSON.stringify(tiles));
    const tilesAsOf = { sequence: this.stream.latestSequence, atMs: nowMs, chunk };
    // clients choose the id: unknown factories must not fill the map
    if (factoryId === null || tiles.length > 0) this.snapshots.set(factoryId, tilesAsOf);
    return tilesAsOf;
  }
}
