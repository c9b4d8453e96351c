import { type Dirent } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { givenPath } from '../command-line/given-path.js';

/** Far more than anybody reads through; a folder given by mistake, such as the root, ends here. */
const MAX_ENTRIES = 100_000;

export interface FoundDocument {
  path: string;
  /** As it was given; of a file in a folder, its path below that folder. */
  name: string;
}

export interface FoundDocuments {
  /** Folders and files as they were given, those of a folder in the order of their names. */
  documents: readonly FoundDocument[];
  /** What stands in a folder and is not read, and why. */
  skipped: readonly string[];
}

/**
 * Files, and those in folders and the folders in these. Links to files are followed, as a mounted ConfigMap is
 * a folder of them; links to folders are not, as they may lead in circles.
 *
 * @throws Error for a path that is not there, and for folders that hold more than `maxEntries`
 */
export async function documentsIn(
  paths: readonly string[],
  maxEntries = MAX_ENTRIES,
): Promise<FoundDocuments> {
  const documents: FoundDocument[] = [];
  const skipped: string[] = [];
  for (const given of paths) {
    const path = givenPath(given);
    if (!(await stat(path)).isDirectory()) {
      documents.push({ path, name: given });
      continue;
    }
    const folder = await searchFolder(path, maxEntries);
    // Two folders may have files of the same name.
    const shown = paths.length === 1 ? (name: string) => name : (name: string) => join(given, name);
    for (const name of folder.files.sort()) {
      documents.push({ path: join(path, name), name: shown(name) });
    }
    skipped.push(...folder.skipped.sort().map(shown));
  }
  return { documents, skipped };
}

/** The paths in a folder below it. */
async function searchFolder(
  root: string,
  maxEntries: number,
): Promise<{ files: string[]; skipped: string[] }> {
  const files: string[] = [];
  const skipped: string[] = [];
  // It grows by the folders that are found on the way.
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
