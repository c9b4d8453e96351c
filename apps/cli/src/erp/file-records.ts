import { readFile, stat } from 'node:fs/promises';
import { MAX_BODY_BYTES, openEnvelope, parsed, type Parsed, tooLarge } from '#libs/contracts';
import { type OrderDocument } from '#libs/erp-formats';

export interface RecordOptions {
  contentType?: string;
  topic?: string;
}

/**
 * Files as the records that their documents would come in. A topic holds records in the order in which they are dated:
 * each is dated by its file, but not before those read ahead of it.
 */
export class FileRecords {
  /** Epoch seconds. */
  private recordedAt = 0;

  /** @param options what the headers of each would say */
  constructor(private readonly options: RecordOptions) {}

  /** An Error where the system does not hand the file out. */
  async read(path: string): Promise<Parsed<OrderDocument> | Error> {
    const file = await contentOf(path).catch((error: unknown) => error as Error);
    if (file instanceof Error) return file;
    const { body, changedAt } = file;
    this.recordedAt = Math.max(this.recordedAt, changedAt);
    if (!body.ok) return body;
    const { contentType, topic } = this.options;
    const headers = contentType === undefined ? [] : [['content-type', contentType] as const];
    const envelope = openEnvelope({ value: body.value, headers });
    if (!envelope.ok) return envelope;
    const { recordedAt } = this;
    return parsed({ ...envelope.value, sourceTopic: topic ?? null, recordedAt });
  }
}

/** What is too large is not loaded. `changedAt` in epoch seconds. */
async function contentOf(path: string): Promise<{ body: Parsed<Buffer>; changedAt: number }> {
  const { mtimeMs, size } = await stat(path);
  const body = size > MAX_BODY_BYTES ? tooLarge(size) : parsed(await readFile(path));
  return { body, changedAt: Math.floor(mtimeMs / 1000) };
}
