import { readFile, stat } from 'node:fs/promises';
import { EquipmentMap, equipmentMapFormat, parseEquipmentMap } from '#libs/erp-formats';

export type EquipmentMapRead =
  { kind: 'map'; map: EquipmentMap } | { kind: 'unreadable'; why: string };

/** The file behind `EQUIPMENT_MAP_FILE`, which was read once at start. */
export class EquipmentMapFile {
  private version: string | undefined;
  private problem: string | undefined;

  /**
   * @param content as it was read at start
   * @param read resolves with the text of a file, or rejects
   */
  constructor(
    private readonly path: string,
    private content: string,
    private readonly read = (file: string): Promise<string> => readFile(file, 'utf8'),
  ) {}

  /** Never rejects. Undefined while the file is the one that was looked at last, or cannot be read for the same reason. */
  async readIfChanged(): Promise<EquipmentMapRead | undefined> {
    try {
      // Looked at before reading: a change in between is then seen the next time.
      const version = await versionOf(this.path);
      if (version === this.version) return undefined;
      const content = await this.read(this.path);
      this.version = version;
      if (content === this.content) return undefined;
      this.content = content;
      const entries = parseEquipmentMap(content, equipmentMapFormat(this.path));
      this.problem = undefined;
      return { kind: 'map', map: EquipmentMap.of(entries) };
    } catch (error) {
      const why = (error as Error).message;
      if (why === this.problem) return undefined;
      this.problem = why;
      return { kind: 'unreadable', why };
    }
  }
}

/** Besides time and size the inode: a mounted file is replaced by switching a link. */
async function versionOf(path: string): Promise<string> {
  const { mtimeNs, size, ino } = await stat(path, { bigint: true });
  return [mtimeNs, size, ino].join(':');
}
