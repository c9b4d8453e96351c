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
    const metrics = [
      scrapedGauge(
        'machine_terminal_kafka_up',
        '1 while Kafka answers and its topics have been read',
        () => Number(feed.link.state === 'up'),
      ),
      scrapedGauge(
        'machine_terminal_machines',
        'Machines that are known',
        () => plant.machines.size,
      ),
      scrapedGauge(
        'machine_terminal_restore_seconds',
        'How long reading the topics took at the start',
        () => (feed.restoredAfterMs === undefined ? 0 : feed.restoredAfterMs / 1000),
      ),
      scrapedGauge('machine_terminal_pages', 'Pages that follow the events', () => stream.size),
      scrapedCounter(
        'machine_terminal_events_total',
        'Events for pages',
        () => stream.latestSequence,
      ),
      scrapedCounter(
        'machine_terminal_pages_dropped_total',
        'Pages dropped because they were slow',
        () => stream.droppedCount,
      ),
      scrapedCounter(
        'machine_terminal_reasons_sent_total',
        'Reasons given to Kafka',
        () => written.reasons,
      ),
      scrapedCounter(
        'machine_terminal_follow_ups_total',
        'Of these, those that the server sent by itself',
        () => written.followUps,
      ),
      scrapedCounter(
        'machine_terminal_wrong_tokens_total',
        'Wrong tokens received',
        () => wrongTokens.count,
      ),
      scrapedCounter(
        'machine_terminal_notes_sent_total',
        'Notes given to Kafka',
        () => written.notes,
      ),
    ];
    for (const metric of metrics) this.registry.registerMetric(metric);
  }

  @Get()
  @Header('content-type', Registry.PROMETHEUS_CONTENT_TYPE)
  metrics(): Promise<string> {
    return this.registry.metrics();
  }
}
