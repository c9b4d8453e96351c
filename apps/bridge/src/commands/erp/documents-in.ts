import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';

export interface FoundDocuments {
  /** Those of a folder by name, folders and files as they were given. */
  documents: readonly string[];
  /** What stands in a folder and is not read, and why. */
  skipped: readonly string[];
}

/** Files, and those in folders. Links are followed: a mounted ConfigMap is a folder of links. */
export async function documentsIn(paths: readonly string[]): Promise<FoundDocuments> {
  const documents: string[] = [];
  const skipped: string[] = [];
  for (const path of paths) {
    if (!(await stat(path)).isDirectory()) {
      documents.push(path);
      continue;
    }
    for (const name of (await readdir(path)).sort()) {
      const entry = join(path, name);
      const why = await whyNot(entry, name);
      if (why === undefined) documents.push(entry);
      else skipped.push(`${entry}: ${why}`);
    }
  }
  return { documents, skipped };
}

async function whyNot(path: string, name: string): Promise<string | undefined> {
  if (name.startsWith('.')) return 'hidden';
  const found = await stat(path).catch(() => undefined);
  if (found === undefined) return 'a link to nothing';
  if (found.isDirectory()) return 'a folder in a folder';
  return found.isFile() ? undefined : 'no file';
}
