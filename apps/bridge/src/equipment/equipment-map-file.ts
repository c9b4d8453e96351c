import { readFile, stat } from 'node:fs/promises';
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import {
  EquipmentMap,
  equipmentMapFormat,
  parseEquipmentMapAside,
  YAML_OPTIONS,
} from '#libs/erp-formats';

export type EquipmentMapRead =
  { kind: 'map'; map: EquipmentMap } | { kind: 'unreadable'; why: string };

/** The file behind `EQUIPMENT_MAP_FILE`, which was read once at start. */
export class EquipmentMapFile {
  /** Version of the file that was read last. */
  private version: string | undefined;
  /** Version of the file at the last look. */
  private seen: string | undefined;
  /** The problem reported last, until there is a map again. */
  private problem: string | undefined;

  /**
   * @param content as it was read at start, without white space around it
   * @param read resolves with the text of a file, or rejects
   */
  constructor(
    private readonly path: string,
    private content: string,
    private readonly read = (file: string): Promise<string> => readFile(file, 'utf8'),
  ) {}

  /**
   * Never rejects. Undefined while the file is the one that was read last, or cannot be read for the same reason,
   * and while it changes: one that somebody is writing may be a map even where it ends in the middle of a name.
   */
  async readIfChanged(): Promise<EquipmentMapRead | undefined> {
    try {
      // Looked at before reading: a change in between is then seen the next time.
      const version = await this.look();
      const isStable = version === this.seen;
      this.seen = version;
      if (version === this.version || !isStable) return undefined;
      const content = (await this.read(this.path)).trim();
      this.version = version;
      // After a problem also what it was before: else neither its end nor the next one would be reported.
      if (content === this.content && this.problem === undefined) return undefined;
      this.content = content;
      const format = equipmentMapFormat(this.path);
      const entries = await parseEquipmentMapAside(content, format, readYamlAside);
      this.problem = undefined;
      return { kind: 'map', map: EquipmentMap.of(entries) };
    } catch (error) {
      const why = (error as Error).message;
      if (why === this.problem) return undefined;
      this.problem = why;
      return { kind: 'unreadable', why };
    }
  }

  private async look(): Promise<string> {
    try {
      // Besides time and size the inode: a mounted file is replaced by switching a link.
      const { mtimeNs, size, ino } = await stat(this.path, { bigint: true });
      return [mtimeNs, size, ino].join(':');
    } catch (error) {
      // It may be put back as it was, which is to be reported.
      [this.version, this.seen] = [undefined, undefined];
      throw error;
    }
  }
}

const PROGRAM = new URL('./yaml-thread.js', import.meta.url);
/** 50,000 entries take 3 s, and 17 s where all processors are busy. */
const DEADLINE_MS = 120_000;
/** 50,000 entries take less than 300 MiB. */
const RESOURCE_LIMITS = { maxOldGenerationSizeMb: 1024 };

/**
 * Parses YAML in a thread of its own: in that of the process, heartbeats and answers would wait for it.
 *
 * @throws Error with what the parser says, or that it has taken too long or too much memory
 */
async function readYamlAside(text: string): Promise<unknown> {
  const worker = new Worker(PROGRAM, {
    workerData: { text, options: YAML_OPTIONS },
    resourceLimits: RESOURCE_LIMITS,
  });
  worker.unref();
  const signal = AbortSignal.timeout(DEADLINE_MS);
  try {
    const [said] = (await once(worker, 'message', { signal })) as [
      { content: unknown } | { fault: string },
    ];
    if ('fault' in said) throw new Error(said.fault);
    return said.content;
  } catch (error) {
    if (!signal.aborted) throw error;
    throw new Error(`it takes longer than ${DEADLINE_MS / 1000} s`, { cause: error });
  } finally {
    await worker.terminate();
  }
}
