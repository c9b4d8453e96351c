import { Clock } from '#libs/clock';
import type { TerminalSettings } from '#libs/config';
import type { KafkaClient } from '#libs/kafka';
import type { Entry, NewEntry, NewNote } from '../api/index.js';
import type { Plant } from '../plant/index.js';
import type { PlantFeed } from './plant-feed.js';
import { EntryWriter } from './entry-writer.js';

const PLACE = { topic: 'written', partition: 0, offset: 7 };
const SPAN = { machineId: 'M-1', startTime: 1000, endTime: 1600 };
const ENTRY: NewEntry = { entryId: 'E-1', reasonId: '22', ...SPAN };
const NOTE: NewNote = { noteId: 'N-1', text: 'hose is leaking', ...SPAN };
const SENDER = { station: 'local', operator: null, madeAt: 2000 };

const nothing = () => Promise.resolve([]);
const open: EntryWriter[] = [];

afterEach(async () => {
  for (const writer of open.splice(0)) await writer.onApplicationShutdown();
});

/** A writer whose topics are empty and read once `release` is called; Kafka never acknowledges its records. */
function setUp() {
  let release!: () => void;
  const read = new Promise<never[]>((resolve) => {
    release = () => resolve([]);
  });
  const admin = {
    ...{ connect: nothing, disconnect: nothing },
    ...{ fetchTopicOffsets: () => read, fetchTopicOffsetsByTimestamp: nothing },
  };
  const producer = {
    connect: () => new Promise(() => undefined),
    disconnect: nothing,
  };
  const plant = {
    entries: new Map<string, Entry>(),
    notes: new Map<string, typeof PLACE>(),
    window: () => ({ startTime: 5000, endTime: 6000 }),
    entry: (id: string) => plant.entries.get(id),
    notePlace: (id: string) => plant.notes.get(id),
  };
  const writer = new EntryWriter(
    { kafka: { topicPrefix: '' } } as TerminalSettings,
    { admin: () => admin, producer: () => producer } as unknown as KafkaClient,
    new Clock(),
    plant as unknown as Plant,
    {} as PlantFeed,
  );
  open.push(writer);
  return { writer, plant, release };
}

describe('a record that is read during a look-up', () => {
  it.each([
    ['the same reason', ENTRY, PLACE],
    ['another reason', { ...ENTRY, reasonId: '23' }, 'reused'],
  ])('is known afterwards: %s', async (_, entry, found) => {
    const { writer, plant, release } = setUp();
    const finding = writer.findEntry(entry);
    plant.entries.set('E-1', { ...ENTRY, source: PLACE } as unknown as Entry);
    release();
    expect(await finding).toEqual(found);
  });

  it('is known afterwards: a note', async () => {
    const { writer, plant, release } = setUp();
    const writing = writer.writeNote(NOTE, SENDER);
    plant.notes.set('N-1', PLACE);
    release();
    expect(await writing).toEqual(PLACE);
    expect(writer.written.notes).toBe(0);
  });
});

describe('a reason that is being written since a look-up began', () => {
  it('is not taken for another one of its id, nor counted before Kafka has stored it', async () => {
    const { writer, release } = setUp();
    const finding = writer.findEntry({ ...ENTRY, reasonId: '23' });
    writer.writeEntry(ENTRY, SENDER).catch(() => undefined);
    release();
    expect(await finding).toBe('reused');
    expect(writer.written.reasons).toBe(0);
  });
});
