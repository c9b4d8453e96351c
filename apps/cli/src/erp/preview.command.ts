import { Help, Option, SubCommand } from 'nest-commander';
import { type ErpSettings, loadErpSettings, readEnvironment } from '#libs/config';
import { type Parsed } from '#libs/contracts';
import { type OrderDocument, OrderMapping } from '#libs/erp-formats';
import { BoundedExpressions } from '#libs/expressions';
import { OrderPreview } from './order-preview.js';
import { BridgeCommand } from '../command-line/bridge-command.js';
import { givenPath } from '../command-line/given-path.js';
import { note, print } from '../command-line/terminal.js';
import { visible } from '../command-line/visible-text.js';
import { documentsIn, type FoundDocument } from './documents-in.js';
import { FileRecords, type RecordOptions } from './file-records.js';
import { documentLines, listLine, rejectionLine, unreadableLine } from './preview-lines.js';

interface PreviewOptions extends RecordOptions {
  map?: string;
  mapping?: string;
  timeZone?: string;
}

/** `erp preview <file|folder>…`: what the bridge would make of documents. Exit code 1 if it would refuse one. */
@SubCommand({
  name: 'preview',
  arguments: '<files...>',
  description: `Shows what the bridge would do with documents on erp.work-orders.v1, and does none of it.

Files are read one after the other as if they came in this order, those of a folder and of the folders in it
by name. Machines are not looked up: whether the service knows them is not checked.`,
})
export class PreviewCommand extends BridgeCommand {
  async run(files: string[], options: PreviewOptions): Promise<void> {
    const erp = erpSettings(options);
    const mapping = new OrderMapping(erp.mapping, new BoundedExpressions());
    try {
      const { documents, skipped } = await documentsIn(files);
      for (const what of skipped) note(`not read: ${visible(what)}`);
      if (documents.length === 0) throw new Error(`no file to read in ${files.join(', ')}`);
      await this.preview(documents, erp, new OrderPreview(erp, mapping), new FileRecords(options));
    } finally {
      mapping.close();
    }
  }

  private async preview(
    documents: readonly FoundDocument[],
    erp: ErpSettings,
    preview: OrderPreview,
    records: FileRecords,
  ): Promise<void> {
    let refused = 0;
    for (const { name, path } of documents) {
      print(visible(name));
      refused += await this.show(await records.read(path), preview, erp);
    }
    print('lists in the end');
    for (const [machineId, workingOrders] of preview.lists())
      print(listLine(machineId, workingOrders));
    if (refused > 0) this.refuseDocuments(refused);
  }

  /** Returns how many times something would be set aside, or is not known for want of reading it. */
  private async show(
    record: Parsed<OrderDocument> | Error,
    preview: OrderPreview,
    erp: ErpSettings,
  ): Promise<number> {
    if (record instanceof Error) {
      print(unreadableLine(record));
      return 1;
    }
    const document = record.ok ? await preview.take(record.value) : record;
    if (!document.ok) {
      print(rejectionLine(document.rejection));
      return 1;
    }
    for (const line of documentLines(document.value, erp)) print(line);
    return document.value.rejections.length;
  }

  private refuseDocuments(count: number): never {
    throw new Error(`${count} ${count === 1 ? 'rejection' : 'rejections'}: see the lines with !`);
  }

  @Option({ flags: '--map <file>', description: 'equipment map, in place of EQUIPMENT_MAP_FILE' })
  map(file: string): string {
    return givenPath(file);
  }

  @Option({ flags: '--mapping <file>', description: 'expressions, in place of ERP_MAPPING_FILE' })
  mapping(file: string): string {
    return givenPath(file);
  }

  @Option({
    flags: '--time-zone <zone>',
    description: 'of local times and of those shown, in place of ERP_TIME_ZONE',
  })
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
A document without a time of its own is dated by its file, but not before those read ahead of it. In a folder,
what is hidden and links to folders are left out. docs/erp says what is read of each format.`;
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
