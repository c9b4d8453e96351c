import type { Dirent } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { MAX_BODY_BYTES, openEnvelope, parsed, type Parsed, tooLarge } from '#libs/contracts';
import type { EnrichmentRules, OrderDocument, ThinEvent } from '#libs/erp-formats';
import { readPath, readUpTo, unreadableBecause } from '../command-line/option-values.js';

/** Limits the search in a folder that was given by mistake, such as the root. */
const MAX_ENTRIES = 100_000;

interface SourceFile {
  path: string;
  /** The given path or, within a given folder, the path below it. */
  name: string;
}

interface SourceFiles {
  /** In the order of the given paths; within a folder by name. */
  files: readonly SourceFile[];
  /** Ignored entries of a folder, with the reason. */
  skipped: readonly string[];
}

/**
 * Finds the given files, and those in given folders and their subfolders. Follows links to files, of which a mounted
 * ConfigMap consists, but not links to folders, which may form a cycle.
 *
 * @throws Error for a missing path, and for a folder with more than `maxEntries`
 */
export async function findSourceFiles(
  paths: readonly string[],
  maxEntries = MAX_ENTRIES,
): Promise<SourceFiles> {
  const files: SourceFile[] = [];
  const skipped: string[] = [];
  for (const given of paths) {
    const path = readPath(given);
    const found = await stat(path).catch((cause: unknown) => {
      throw new Error(`${given}: ${unreadableBecause(cause)}`, { cause });
    });
    if (!found.isDirectory()) {
      files.push({ path, name: given });
      continue;
    }
    const folder = await searchFolder(path, maxEntries);
    // two folders may have files of the same name
    const shown = paths.length === 1 ? (name: string) => name : (name: string) => join(given, name);
    for (const name of folder.files.sort()) {
      files.push({ path: join(path, name), name: shown(name) });
    }
    skipped.push(...folder.skipped.sort().map(shown));
  }
  return { files, skipped };
}

/** Paths relative to the folder. */
async function searchFolder(
  root: string,
  maxEntries: number,
): Promise<{ files: string[]; skipped: string[] }> {
  const files: string[] = [];
  const skipped: string[] = [];
  // grows during the iteration
  const folders = [''];
  for (const folder of folders) {
    for (const entry of await readdir(join(root, folder), { withFileTypes: true })) {
      const name = join(folder, entry.name);
      const kind = await kindOf(entry, join(root, name));
      if (kind === 'file') files.push(name);
      else if (kind === 'folder') folders.push(name);
      else skipped.push(`${name}: ${kind.notRead}`);
      if (files.length + skipped.length + folders.length > maxEntries) {
        throw new Error(`${root} holds more than ${maxEntries} files and folders`);
      }
    }
  }
  return { files, skipped };
}

async function kindOf(
  entry: Dirent,
  path: string,
): Promise<'file' | 'folder' | { notRead: string }> {
  if (entry.name.startsWith('.')) return { notRead: 'hidden' };
  if (entry.isDirectory()) return 'folder';
  const found = await stat(path).catch(() => undefined);
  if (found === undefined) return { notRead: 'a link to nothing' };
  if (found.isDirectory()) return { notRead: 'a link to a folder' };
  return found.isFile() ? 'file' : { notRead: 'no file' };
}

export interface RecordOptions {
  contentType?: string;
  topic?: string;
}

/** A document, or a thin event that the bridge would complete from the ERP. */
export type FileRecord = OrderDocument | { asksFor: ThinEvent };

/**
 * Reads files as records of erp.work-orders.v1. A record has the time of its file, but not an earlier one than the
 * previous record, because the records of a topic are in order of time.
 */
export class FileRecords {
  /** Epoch seconds. */
  private recordedAt = 0;

  /** @param options replace the headers of each record */
  constructor(
    private readonly options: RecordOptions,
    private readonly enrichment: EnrichmentRules,
  ) {}

  /** Returns an Error for a file that cannot be read. */
  async readRecord(path: string): Promise<Parsed<FileRecord> | Error> {
    const file = await contentOf(path).catch((error: unknown) => error as Error);
    if (file instanceof Error) return file;
    const { body, changedAt } = file;
    this.recordedAt = Math.max(this.recordedAt, changedAt);
    if (!body.ok) return body;
    const { contentType, topic } = this.options;
    const headers = contentType === undefined ? [] : [['content-type', contentType] as const];
    const message = { value: body.value, headers };
    const envelope = openEnvelope(message);
    if (!envelope.ok) return envelope;
    const thin = this.enrichment.findThinEvent(message, envelope.value);
    if (thin !== undefined) return thin.ok ? parsed({ asksFor: thin.value }) : thin;
    const { recordedAt } = this;
    return parsed({ ...envelope.value, sourceTopic: topic ?? null, recordedAt });
  }
}

/** Reads a file, but not all of one that is too large. `changedAt` in epoch seconds. */
async function contentOf(path: string): Promise<{ body: Parsed<Buffer>; changedAt: number }> {
  const { mtimeMs, size } = await stat(path);
  const content = await readUpTo(path, MAX_BODY_BYTES);
  const isWhole = content.length <= MAX_BODY_BYTES;
  const body = isWhole ? parsed(content) : tooLarge(Math.max(size, content.length));
  return { body, changedAt: Math.floor(mtimeMs / 1000) };
}
