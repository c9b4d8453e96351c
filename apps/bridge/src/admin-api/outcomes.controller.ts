import {
  BadRequestException,
  Controller,
  Get,
  Inject,
  Injectable,
  type OnModuleDestroy,
  Query,
  ServiceUnavailableException,
  UseGuards,
} from '@nestjs/common';
import { whenAnyAborts, withDeadline } from '#libs/clock';
import type { BridgeSettings } from '#libs/config';
import {
  type CommandOutcome,
  headerText,
  isJsonObject,
  type JsonObject,
  readEpochSeconds,
  readJson,
  TOPICS,
  withoutFrame,
} from '#libs/contracts';
import {
  describeKafkaFailure,
  type KafkaClient,
  offsetsSince,
  readSpans,
  type StoredRecord,
  type TopicSpan,
  topicSpans,
} from '#libs/kafka';
import { BRIDGE_SETTINGS, KAFKA } from '../platform/index.js';
import { ApiTokenGuard } from './api-token.guard.js';

/** Conditions, all of which must hold. */
interface OutcomeQuery {
  messageId?: string | undefined;
  /** The outcome's order, or that of an entry of the list it set, with or without an operation. */
  orderId?: string | undefined;
  machineId?: string | undefined;
  /** Epoch seconds of the earliest publication. */
  since?: number | undefined;
  limit: number;
}

interface PublishedOutcome extends Omit<CommandOutcome, 'source'> {
  type: string;
  /** Epoch seconds, real time. */
  publishedAt: number;
  source: unknown;
}

interface FoundOutcomes {
  outcomes: PublishedOutcome[];
  /** Why outcomes may be missing, as text; null if these are all. */
  cut: string | null;
}

/** Maximum of offsets read in one search, over all partitions: two or three seconds. */
const MAX_OFFSETS = 200_000;
const READ_DEADLINE_MS = 6000;
/** Deadline of the whole search: the command line waits no longer than ten seconds. */
const DEADLINE_MS = 9000;

/** Searches `machine.command-outcomes.v1` on request, one search at a time. */
@Injectable()
export class OutcomeHistory implements OnModuleDestroy {
  private readonly topic: string;
  private readonly stopping = new AbortController();
  private isSearching = false;

  constructor(
    @Inject(BRIDGE_SETTINGS) { kafka: { topicPrefix } }: BridgeSettings,
    @Inject(KAFKA) private readonly kafka: KafkaClient,
  ) {
    this.topic = `${topicPrefix}${TOPICS.commandOutcomes}`;
  }

  onModuleDestroy(): void {
    this.stopping.abort(new Error('the bridge is stopping'));
  }

  /** @throws ServiceUnavailableException when Kafka does not answer, or another search is under way */
  async search(query: OutcomeQuery): Promise<FoundOutcomes> {
    if (this.isSearching) {
      throw new ServiceUnavailableException(
        'another search is under way: try again in some seconds',
      );
    }
    this.isSearching = true;
    const searched = this.searchTopic(query).finally(() => {
      this.isSearching = false;
    });
    if (!(await withDeadline(searched, DEADLINE_MS))) {
      throw new ServiceUnavailableException(
        `Kafka has not answered within ${DEADLINE_MS / 1000} s`,
      );
    }
    try {
      return await searched;
    } catch (error) {
      const why = describeKafkaFailure(error, { right: 'Read', topics: [this.topic] });
      throw new ServiceUnavailableException(`the outcomes cannot be read: ${why}`);
    }
  }

  private async searchTopic(query: OutcomeQuery): Promise<FoundOutcomes> {
    const { spans, isCut } = await this.spansOf(query);
    const matches = new NewestMatches(query);
    const deadline = AbortSignal.timeout(READ_DEADLINE_MS);
    const { signal, release } = whenAnyAborts(this.stopping.signal, deadline);
    const onRecords = (records: readonly StoredRecord[]): void => matches.addMatches(records);
    await readSpans(this.kafka, spans, { signal, onRecords }).finally(release);
    const outcomes = matches.newestFirst();
    const cuts = [
      ...(matches.isFull ? [`only the newest ${query.limit}`] : []),
      ...(isCut ? [`only the newest ${MAX_OFFSETS} offsets of the topic were looked at`] : []),
      ...(deadline.aborted
        ? [`reading ended after ${READ_DEADLINE_MS / 1000} s: the newest may be missing`]
        : []),
    ];
    return { outcomes, cut: cuts.length === 0 ? null : cuts.join('; ') };
  }

  private async spansOf({ since }: OutcomeQuery): Promise<{ spans: TopicSpan[]; isCut: boolean }> {
    const [all, starts] = await Promise.all([
      topicSpans(this.kafka, this.topic),
      since === undefined ? undefined : offsetsSince(this.kafka, this.topic, since * 1000),
    ]);
    const most = Math.ceil(MAX_OFFSETS / Math.max(1, all.length));
    let isCut = false;
    const spans = all.map((span) => {
      const wanted = Math.max(span.from, starts?.get(span.partition) ?? 0);
      const from = Math.max(wanted, span.until - most);
      isCut ||= from > wanted;
      return { ...span, from };
    });
    return { spans, isCut };
  }
}

class NewestMatches {
  isFull = false;
  private found: { outcome: PublishedOutcome; record: StoredRecord }[] = [];
  /** Bytes that the JSON of a match contains: most other records need not be parsed. */
  private readonly needles: Buffer[];

  constructor(private readonly query: OutcomeQuery) {
    const { messageId, orderId, machineId } = query;
    this.needles = [messageId, orderId, machineId].flatMap((id) =>
      id === undefined ? [] : [Buffer.from(JSON.stringify(id).slice(0, -1))],
    );
  }

  addMatches(records: readonly StoredRecord[]): void {
    for (const record of records) {
      const outcome = this.matchOf(record);
      if (outcome === undefined) continue;
      this.found.push({ outcome, record });
      if (this.found.length >= 2 * this.query.limit) this.trim();
    }
  }

  newestFirst(): PublishedOutcome[] {
    this.trim();
    return this.found.map(({ outcome }) => outcome);
  }

  private trim(): void {
    const { limit } = this.query;
    this.found.sort(
      (a, b) =>
        Number(b.record.timestamp) - Number(a.record.timestamp) ||
        b.record.offset - a.record.offset,
    );
    this.isFull ||= this.found.length > limit;
    this.found = this.found.slice(0, limit);
  }

  private matchOf(record: StoredRecord): PublishedOutcome | undefined {
    const { value, headers, timestamp } = record;
    if (value === null || !this.needles.every((needle) => value.includes(needle))) return undefined;
    const json = readJson(withoutFrame(value));
    if (!json.ok || !isJsonObject(json.value) || !isAbout(json.value, this.query)) return undefined;
    const data = json.value as unknown as CommandOutcome;
    const { machineId, orderId, source, code, detail, attempts, appliedAt, workingOrders } = data;
    return {
      type: headerText(headers, 'ce_type') ?? '',
      publishedAt: Math.floor(Number(timestamp) / 1000),
      ...{ machineId, orderId, source, code, detail, attempts, appliedAt, workingOrders },
    };
  }
}

function isAbout(data: JsonObject, { messageId, orderId, machineId }: OutcomeQuery): boolean {
  const source = isJsonObject(data['source']) ? data['source'] : {};
  if (messageId !== undefined && source['messageId'] !== messageId) return false;
  if (machineId !== undefined && data['machineId'] !== machineId) return false;
  if (orderId === undefined || data['orderId'] === orderId) return true;
  const entries: unknown = data['workingOrders'];
  return (
    Array.isArray(entries) &&
    entries.some(
      (entry) =>
        entry === orderId || (typeof entry === 'string' && entry.startsWith(`${orderId}-`)),
    )
  );
}

const DEFAULT_LIMIT = 100;
const MAX_LIMIT = 1000;

@Controller('api/outcomes')
@UseGuards(ApiTokenGuard)
export class OutcomesController {
  constructor(private readonly history: OutcomeHistory) {}

  @Get()
  async search(@Query() query: Record<string, unknown>): Promise<FoundOutcomes> {
    const [messageId, orderId, machineId] = ['messageId', 'orderId', 'machineId'].map((name) =>
      textOf(query, name),
    );
    if ((messageId ?? orderId ?? machineId) === undefined) {
      throw new BadRequestException('ask for messageId, orderId or machineId');
    }
    const asked = { messageId, orderId, machineId, since: sinceOf(query), limit: limitOf(query) };
    return this.history.search(asked);
  }
}

function textOf(query: Record<string, unknown>, name: string): string | undefined {
  const value = query[name];
  if (value === undefined || value === '') return undefined;
  if (typeof value !== 'string') throw new BadRequestException(`${name} may be given once only`);
  return value;
}

function sinceOf(query: Record<string, unknown>): number | undefined {
  const text = textOf(query, 'since');
  if (text === undefined) return undefined;
  // An unescaped `+` of a UTC offset arrives as a blank.
  const time = readEpochSeconds(text.replace(/ (?=\d\d:\d\d$)/, '+'));
  if (!time.ok) throw new BadRequestException(`since ${time.problem}`);
  return time.seconds;
}

function limitOf(query: Record<string, unknown>): number {
  const text = textOf(query, 'limit');
  if (text === undefined) return DEFAULT_LIMIT;
  const limit = Number(text);
  if (/^\d+$/.test(text) && limit >= 1 && limit <= MAX_LIMIT) return limit;
  throw new BadRequestException(`limit must lie between 1 and ${MAX_LIMIT}`);
}
