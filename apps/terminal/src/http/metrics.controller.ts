import { Controller, Get, Header, UseGuards } from '@nestjs/common';
import { collectDefaultMetrics, Registry } from 'prom-client';
import { scrapedCounter, scrapedGauge } from '#libs/http-api';
import { AccessGuard } from '../access/access.guard.js';
import { WrongTokens } from '../access/wrong-tokens.js';
import { PlantFeed } from '../kafka/plant-feed.js';
import { EntryWriter } from '../kafka/entry-writer.js';
import { LiveUpdates } from '../live/live-updates.js';
import { Plant } from '../plant/index.js';

@Controller('metrics')
@UseGuards(AccessGuard)
export class MetricsController {
  private readonly registry = new Registry();

  constructor(
    plant: Plant,
    feed: PlantFeed,
    { stream }: LiveUpdates,
    writer: EntryWriter,
    wrongTokens: WrongTokens,
  ) {
    collectDefaultMetrics({ register: this.registry });
    const { written } = writer;
    this.gauge('kafka_up', '1 while Kafka answers and its topics have been read', () =>
      Number(feed.link.state === 'up'),
    );
    this.gauge('machines', 'Machines that are known', () => plant.machines.size);
    this.gauge('restore_seconds', 'How long reading the topics took at the start', () =>
      feed.restoredAfterMs === undefined ? 0 : feed.restoredAfterMs / 1000,
    );
    this.gauge('pages', 'Pages that follow the events', () => stream.size);
    this.counter('events_total', 'Events for pages', () => stream.latest);
    this.counter(
      'pages_dropped_total',
      'Pages dropped because they were slow',
      () => stream.dropped,
    );
    this.counter('reasons_sent_total', 'Reasons given to Kafka', () => written.reasons);
    this.counter(
      'follow_ups_total',
      'Of these, those that the server sent by itself',
      () => written.followUps,
    );
    this.counter('wrong_tokens_total', 'Wrong tokens received', () => wrongTokens.count);
    this.counter('notes_sent_total', 'Notes given to Kafka', () => written.notes);
  }

  @Get()
  @Header('content-type', Registry.PROMETHEUS_CONTENT_TYPE)
  metrics(): Promise<string> {
    return this.registry.metrics();
  }

  private gauge(name: string, help: string, read: () => number): void {
    this.registry.registerMetric(
      scrapedGauge(`machine_terminal_${name}`, help, [], (it) => {
        it.set(read());
      }),
    );
  }

  private counter(name: string, help: string, read: () => number): void {
    this.registry.registerMetric(
      scrapedCounter(`machine_terminal_${name}`, help, [], (it) => {
        it.inc(read());
      }),
    );
  }
}
