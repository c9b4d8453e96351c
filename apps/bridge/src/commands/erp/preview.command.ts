import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { Help, Option, SubCommand } from 'nest-commander';
import { type ErpSettings, loadErpSettings, readEnvironment } from '#libs/config';
import { OrderPreview } from '../../work-orders/index.js';
import { BridgeCommand } from '../bridge-command.js';
import { visible } from '../visible-text.js';
import { print } from '../terminal.js';
import { documentLines, listLine } from './preview-lines.js';

interface PreviewOptions {
  map?: string;
  mapping?: string;
  timeZone?: string;
  contentType?: string;
  topic?: string;
}

/** `erp preview <file|folder>…`: what the bridge would make of documents. Exit code 1 if it would refuse one. */
@SubCommand({
  name: 'preview',
  arguments: '<files...>',
  description: `Shows what the bridge would do with documents on erp.work-orders.v1, and does none of it.

Files are read one after the other as if they came in this order, those of a folder by name. Machines are
not looked up: whether the service knows them is not checked.`,
})
export class PreviewCommand extends BridgeCommand {
  async run(files: string[], options: PreviewOptions): Promise<void> {
    const erp = erpSettings(options);
    try {
      await this.preview(await this.documentsIn(files), erp, options);
    } finally {
      erp.mapping.close();
    }
  }

  private async preview(
    files: readonly string[],
    erp: ErpSettings,
    options: PreviewOptions,
  ): Promise<void> {
    const preview = new OrderPreview(erp);
    let refused = 0;
    for (const file of files) {
      print(visible(file));
      refused += await this.show(file, preview, erp, options);
    }
    print('lists in the end');
    for (const [machineId, workingOrders] of preview.lists())
      print(listLine(machineId, workingOrders));
    if (refused > 0) this.refuseDocuments(refused);
  }

  /** Returns how many times something would be set aside. */
  private async show(
    file: string,
    preview: OrderPreview,
    { equipmentMap }: ErpSettings,
    { contentType, topic }: PreviewOptions,
  ): Promise<number> {
    const { mtimeMs } = await stat(file);
    const body = await readFile(file);
    const recordedAt = Math.floor(mtimeMs / 1000);
    const document = await preview.take({
      contentType: contentType ?? null,
      body,
      sourceTopic: topic ?? null,
      recordedAt,
    });
    if (!document.ok) {
      const { code, detail } = document.rejection;
      print(`  ! set aside as ${code}: ${visible(detail)}`);
      return 1;
    }
    for (const line of documentLines(document.value, equipmentMap)) print(line);
    return document.value.rejections.length;
  }

  private async documentsIn(paths: readonly string[]): Promise<string[]> {
    const documents: string[] = [];
    for (const path of paths) {
      if (!(await stat(path)).isDirectory()) documents.push(path);
      else {
        const entries = await readdir(path, { withFileTypes: true });
        const names = entries.filter((entry) => entry.isFile()).map(({ name }) => name);
        documents.push(...names.sort().map((name) => join(path, name)));
      }
    }
    return documents;
  }

  private refuseDocuments(count: number): never {
    throw new Error(`${count} ${count === 1 ? 'rejection' : 'rejections'}: see the lines with !`);
  }

  @Option({ flags: '--map <file>', description: 'equipment map, in place of EQUIPMENT_MAP_FILE' })
  map(file: string): string {
    return file;
  }

  @Option({ flags: '--mapping <file>', description: 'expressions, in place of ERP_MAPPING_FILE' })
  mapping(file: string): string {
    return file;
  }

  @Option({ flags: '--time-zone <zone>', description: 'of local times, in place of ERP_TIME_ZONE' })
  timeZone(zone: string): string {
    return zone;
  }

  @Option({
    flags: '--content-type <type>',
    description: 'as the header of the message would have it',
  })
  contentType(type: string): string {
    return type;
  }

  @Option({
    flags: '--topic <name>',
    description: 'where its sender published it first, as for UMH',
  })
  topic(name: string): string {
    return name;
  }

  @Help('after')
  whatIsRead(): string {
    return `
A document without a time of its own is dated by its file. docs/erp says what is read of each format.`;
  }
}

function erpSettings({ map, mapping, timeZone }: PreviewOptions): ErpSettings {
  return loadErpSettings({
    ...readEnvironment(),
    ...(map !== undefined && { EQUIPMENT_MAP_FILE: map }),
    ...(mapping !== undefined && { ERP_MAPPING_FILE: mapping }),
    ...(timeZone !== undefined && { ERP_TIME_ZONE: timeZone }),
  });
}
