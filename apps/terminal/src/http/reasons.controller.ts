import { Body, Controller, Get, Post, Query, Req, Res, UseGuards } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { Clock } from '#libs/clock';
import { ApiError, RateLimit } from '#libs/http-api';
import { isIdentifier, isJsonObject } from '#libs/contracts';
import { AccessGuard, type IdentifiedRequest } from '../access/access.guard.js';
import { type Identity, isOperatorName } from '../access/identity.js';
import { StationAccess } from '../access/station-access.js';
import type { Entries, Entry, NewEntry, NewNote, ReasonLists } from '../api/index.js';
import { PlantFeed } from '../kafka/plant-feed.js';
import { ID_REUSED, type Kind, type Sender, EntryWriter } from '../kafka/entry-writer.js';
import { idOfEnd, knownEndOf, MAX_AGE_SECONDS, Plant, refuseEntry } from '../plant/index.js';
import { FactoryId } from '../platform/factory-id.decorator.js';

type Result = { ok: true; source: Entry['source'] } | { ok: false; code: string; message: string };

/** A tablet that was offline all day sends a few hundred. */
const BURST_RECORDS = 600;
const RECORDS_PER_SECOND = 10;
/** Codes with which {@link EntryWriter} refuses one record. */
const RECORD_REFUSALS = new Set(['too-large', 'entry-id-reused']);

/** Receives the entries of pages: 202 once Kafka has stored them; the terminal refuses entries one by one. */
@Controller('api')
@UseGuards(AccessGuard)
export class ReasonsController {
  private readonly limit = new RateLimit(BURST_RECORDS, RECORDS_PER_SECOND);

  constructor(
    private readonly plant: Plant,
    private readonly clock: Clock,
    private readonly feed: PlantFeed,
    private readonly writer: EntryWriter,
    private readonly access: StationAccess,
  ) {}

  @Get('reasons')
  reasonLists(@FactoryId() factoryId: string | null): ReasonLists {
    this.feed.assertRestored();
    return this.plant.reasonListsOf(this.plant.listedMachines(factoryId));
  }

  /** The entries with these ids, and those that end them; also of machines that were removed. */
  @Get('entries')
  entriesOf(@Query('ids') ids: unknown): Entries {
    if (typeof ids !== 'string') throw new ApiError(400, 'invalid-request', 'ids is missing');
    this.writer.assertWritable();
    const named = [...new Set(ids.split(','))].flatMap((id) => [id, idOfEnd(id)]);
    return { entries: named.flatMap((id) => this.plant.entry(id) ?? []) };
  }

  @Post('reasons')
  sendReasons(
    @Body() body: unknown,
    @Req() request: IdentifiedRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<object> {
    const entries = recordsOf(body, 'entries', readEntry);
    this.admitRecords('reasons', request.identity, entries.length);
    return this.sendAll(entries, request, reply, (entry, sender) => this.sendReason(entry, sender));
  }

  @Post('notes')
  sendNotes(
    @Body() body: unknown,
    @Req() request: IdentifiedRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<object> {
    const notes = recordsOf(body, 'notes', readNote);
    this.admitRecords('notes', request.identity, notes.length);
    return this.sendAll(notes, request, reply, (note, sender) => this.sendNote(note, sender));
  }

  /**
   * Answers 202 with a result for each, or an error with the code of the first if none was accepted. All are sent at
   * once. A failure is thrown when all have settled; the page then repeats all of them.
   */
  private async sendAll<T extends NewEntry | NewNote>(
    records: readonly T[],
    { identity }: IdentifiedRequest,
    reply: FastifyReply,
    send: (record: T, sender: Sender) => Promise<Result>,
  ): Promise<object> {
    const settled = await Promise.allSettled(
      records.map((record) => send(record, this.senderOf(record, identity))),
    );
    const results = records.map((record, index) => ({
      ...('entryId' in record ? { entryId: record.entryId } : { noteId: record.noteId }),
      ...resultOf(settled[index]),
    }));
    const [first] = results;
    if (first === undefined || first.ok || results.some(({ ok }) => ok)) {
      void reply.status(202);
      return { results };
    }
    void reply.status(first.code === 'over-operating' ? 409 : 422);
    return { code: first.code, message: first.message, results };
  }

  /** Who entered the record, and when: it may have waited in its page into another operator's shift. */
  private senderOf({ operator, madeAt }: NewEntry | NewNote, identity: Identity): Sender {
    const now = this.clock.nowSeconds();
    return {
      station: identity.station,
      operator:
        operator === undefined || this.access.isOperatorByProxy ? identity.operator : operator,
      madeAt: Math.max(now - MAX_AGE_SECONDS, Math.min(madeAt ?? now, now)),
    };
  }

  /** A reason that was written before is answered with its place, even if it would be refused today. */
  private async sendReason(entry: NewEntry, sender: Sender): Promise<Result> {
    const found = await this.writer.findEntry(entry);
    if (found === 'reused') {
      return { ok: false, code: 'entry-id-reused', message: ID_REUSED };
    }
    if (found !== undefined) return { ok: true, source: found };
    const now = this.clock.nowSeconds();
    const machine = this.plant.machines.get(entry.machineId);
    const periods = machine === undefined ? [] : this.plant.evaluationOf(machine, now).periods;
    const { startTime: rememberedFrom } = this.plant.window(now);
    const refusal = refuseEntry(entry, machine, periods, now, rememberedFrom);
    if (refusal !== undefined) return { ok: false, ...refusal };
    // open-ended, it would apply to the time since its stop, and replace the reasons given for that
    const knownEnd = machine && knownEndOf(machine, periods, entry.startTime, sender.madeAt);
    const endTime = entry.endTime ?? knownEnd ?? null;
    return { ok: true, source: await this.writer.writeEntry(entry, sender, endTime) };
  }

  private async sendNote(note: NewNote, sender: Sender): Promise<Result> {
    if (this.plant.machines.get(note.machineId)?.isListed !== true) {
      const message = `there is no machine ${note.machineId}`;
      return { ok: false, code: 'unknown-machine', message };
    }
    return { ok: true, source: await this.writer.writeNote(note, sender) };
  }

  private admitRecords(kind: Kind, { station }: Identity, count: number): void {
    this.writer.assertWritable(kind);
    const waitSeconds = this.limit.takeTokens(station, count);
    if (waitSeconds === 0) return;
    throw new ApiError(429, 'too-many', 'this station sends too much at once', waitSeconds);
  }
}

function resultOf(settled: PromiseSettledResult<Result> | undefined): Result {
  if (settled?.status === 'fulfilled') return settled.value;
  const error: unknown = settled?.reason;
  // other errors fail the whole request, which the page repeats
  if (!(error instanceof ApiError) || !RECORD_REFUSALS.has(error.code)) throw error;
  return { ok: false, code: error.code, message: error.message };
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[1-8][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/i;
const MAX_RECORDS = 100;
const LONGEST_TEXT = 2000;

/** Parses a list of 1 to 100 records in a body. @throws ApiError 400 */
function recordsOf<T>(
  body: unknown,
  name: string,
  read: (value: Record<string, unknown>) => T | undefined,
): T[] {
  const list = isJsonObject(body) ? body[name] : undefined;
  if (!Array.isArray(list) || list.length === 0 || list.length > MAX_RECORDS) {
    throw invalid(`${name} must be a list of 1 to ${MAX_RECORDS}`);
  }
  return list.map((value: unknown, index) => {
    const record = isJsonObject(value) ? read(value) : undefined;
    if (record === undefined) throw invalid(`${name}[${index}] is not as it should be`);
    return record;
  });
}

function readEntry(value: Record<string, unknown>): NewEntry | undefined {
  const { entryId, reasonId, overOperating } = value;
  const common = readCommon(value);
  if (common === undefined || !isUuid(entryId) || !isIdentifier(reasonId)) return undefined;
  const entry = { entryId: entryId.toLowerCase(), reasonId, ...common };
  return { ...entry, ...(overOperating === true && { overOperating }) };
}

function readNote(value: Record<string, unknown>): NewNote | undefined {
  const { noteId, text } = value;
  const common = readCommon(value);
  if (common === undefined || !isUuid(noteId) || typeof text !== 'string') return undefined;
  if (text.trim() === '' || text.length > LONGEST_TEXT) return undefined;
  return { noteId: noteId.toLowerCase(), text, ...common };
}

/** Fields that reasons and notes share. */
function readCommon(value: Record<string, unknown>): Omit<NewNote, 'noteId' | 'text'> | undefined {
  const { machineId, startTime, endTime = null, operator, madeAt } = value;
  if (!isIdentifier(machineId) || !isSeconds(startTime)) return undefined;
  if (endTime !== null && !isSeconds(endTime)) return undefined;
  if (operator !== undefined && operator !== null && !isOperatorName(operator)) return undefined;
  if (madeAt !== undefined && !isSeconds(madeAt)) return undefined;
  return {
    ...{ machineId, startTime, endTime },
    ...(operator !== undefined && { operator }),
    ...(madeAt !== undefined && { madeAt }),
  };
}

function isUuid(value: unknown): value is string {
  return typeof value === 'string' && UUID.test(value);
}

function isSeconds(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) > 0 && Number(value) < 100_000_000_000;
}

function invalid(message: string): ApiError {
  return new ApiError(400, 'invalid-request', message);
}
