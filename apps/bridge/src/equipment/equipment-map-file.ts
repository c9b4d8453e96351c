import { readFile, stat } from 'node:fs/promises';
import { EquipmentMap, equipmentMapFormat, parseEquipmentMapAside } from '#libs/erp-formats';
import { readYamlAside } from './read-yaml-aside.js';

export type EquipmentMapRead =
  { kind: 'map'; map: EquipmentMap } | { kind: 'unreadable'; why: string };

/** The file behind `EQUIPMENT_MAP_FILE`, which was read once at start. */
export class EquipmentMapFile {
  /** Of what was read last. */
  private version: string | undefined;
  /** As it was at the last look. */
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
      const isSettled = version === this.seen;
      this.seen = version;
      if (version === this.version || !isSettled) return undefined;
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
