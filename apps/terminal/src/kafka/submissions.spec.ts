import { Clock } from '#libs/clock';
import type { TerminalSettings } from '#libs/config';
import type { KafkaClient } from '#libs/kafka';
import type { Entry, NewEntry, NewNote } from '../api/index.js';
import type { Plant } from '../plant/index.js';
import type { PlantFeed } from './plant-feed.js';
import { Submissions } from './submissions.js';

const PLACE = { topic: 'written', partition: 0, offset: 7 };
const SPAN = { machineId: 'M-1', startTime: 1000, endTime: 1600 };
const ENTRY: NewEntry = { entryId: 'E-1', reasonId: '22', ...SPAN };
const NOTE: NewNote = { noteId: 'N-1', text: 'hose is leaking', ...SPAN };
const SENDER = { station: 'local', operator: null, madeAt: 2000 };

const nothing = () => Promise.resolve([]);
const open: Submissions[] = [];

afterEach(async () => {
  for (const submissions of open.splice(0)) await submissions.onApplicationShutdown();
});

/** Its topics hold nothing; they are read once {@link release} is called. What is written is never acknowledged. */
function setUp() {
  let release!: () => void;
  const read = new Promise<never[]>((resolve) => {
    release = () => {
      resolve([]);
    };
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
  const submissions = new Submissions(
    { kafka: { topicPrefix: '' } } as TerminalSettings,
    { admin: () => admin, producer: () => producer } as unknown as KafkaClient,
    new Clock(),
    plant as unknown as Plant,
    {} as PlantFeed,
  );
  open.push(submissions);
  return { submissions, plant, release };
}

describe('what has been read from its topic while an earlier read of it was under way', () => {
  it.each([
    ['the same reason', ENTRY, PLACE],
    ['another reason', { ...ENTRY, reasonId: '23' }, 'reused'],
  ])('is known: %s', async (_, entry, found) => {
    const { submissions, plant, release } = setUp();
    const finding = submissions.find(entry);
    plant.entries.set('E-1', { ...ENTRY, source: PLACE } as unknown as Entry);
    release();
    expect(await finding).toEqual(found);
  });

  it('is known: a note', async () => {
    const { submissions, plant, release } = setUp();
    const writing = submissions.writeNote(NOTE, SENDER);
    plant.notes.set('N-1', PLACE);
    release();
    expect(await writing).toEqual(PLACE);
    expect(submissions.written.notes).toBe(0);
  });
});

describe('a reason that is being written since an earlier read began', () => {
  it('is not taken for another one of its id, nor counted before Kafka has it', async () => {
    const { submissions, release } = setUp();
    const finding = submissions.find({ ...ENTRY, reasonId: '23' });
    submissions.writeEntry(ENTRY, SENDER).catch(() => undefined);
    release();
    expect(await finding).toBe('reused');
    expect(submissions.written.reasons).toBe(0);
  });
});
