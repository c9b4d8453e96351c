import { Help, Option, SubCommand } from 'nest-commander';
import { type ErpSettings, loadErpSettings, readEnvironment } from '#libs/config';
import { type Parsed } from '#libs/contracts';
import { type OrderDocument, OrderMapping } from '#libs/erp-formats';
import { BoundedExpressions } from '#libs/expressions';
import { BaseCommand } from '../command-line/base-command.js';
import { readPath } from '../command-line/option-values.js';
import { print, printStatus, visible } from '../command-line/output.js';
import { documentLines, listLine, rejectionLine, unreadableLine } from './format-preview.js';
import { OrderPreview } from './order-preview.js';
import { FileRecords, findSourceFiles, type RecordOptions } from './source-files.js';

interface PreviewOptions extends RecordOptions {
  map?: string;
  mapping?: string;
  timeZone?: string;
}

/** `erp preview <file|folder>…`: what the bridge would do with documents. Exit code 1 if it would reject one. */
@SubCommand({
  name: 'preview',
  arguments: '<files...>',
  description: `Shows what the bridge would do with documents on erp.work-orders.v1, without doing it.

Files are read as messages in this order, those of a folder and its subfolders by name. Machines are not looked
up: whether the service knows them is not checked.`,
})
export class PreviewCommand extends BaseCommand {
  async run(files: string[], options: PreviewOptions): Promise<void> {
    const erp = erpSettings(options);
    const mapping = new OrderMapping(erp.mapping, new BoundedExpressions());
    try {
      const { files: found, skipped } = await findSourceFiles(files);
      for (const what of skipped) printStatus(`not read: ${visible(what)}`);
      if (found.length === 0) throw new Error(`no file to read in ${files.join(', ')}`);
      const records = new FileRecords(options);
      const preview = new OrderPreview(erp, mapping);
      let rejections = 0;
      for (const { name, path } of found) {
        print(visible(name));
        rejections += await this.show(await records.read(path), preview, erp);
      }
      print('lists in the end');
      for (const list of preview.lists()) print(listLine(...list));
      if (rejections === 0) return;
      const count = `${rejections} ${rejections === 1 ? 'rejection' : 'rejections'}`;
      throw new Error(`${count}: see the lines with !`);
    } finally {
      mapping.close();
    }
  }

  /** Returns the number of rejections; an unreadable file counts as one. */
  private async show(
    record: Parsed<OrderDocument> | Error,
    preview: OrderPreview,
    erp: ErpSettings,
  ): Promise<number> {
    if (record instanceof Error) {
      print(unreadableLine(record));
      return 1;
    }
    const document = record.ok ? await preview.previewDocument(record.value) : record;
    if (!document.ok) {
      print(rejectionLine(document.rejection));
      return 1;
    }
    for (const line of documentLines(document.value, erp)) print(line);
    return document.value.rejections.length;
  }

  @Option({ flags: '--map <file>', description: 'equipment map, in place of EQUIPMENT_MAP_FILE' })
  map(file: string): string {
    return readPath(file);
  }

  @Option({ flags: '--mapping <file>', description: 'expressions, in place of ERP_MAPPING_FILE' })
  mapping(file: string): string {
    return readPath(file);
  }

  @Option({
    flags: '--time-zone <zone>',
    description: 'of local times, read and printed, in place of ERP_TIME_ZONE',
  })
  timeZone(zone: string): string {
    return zone;
  }

  @Option({
    flags: '--content-type <type>',
    description: 'the content-type header of the message',
  })
  contentType(type: string): string {
    return type;
  }

  @Option({
    flags: '--topic <name>',
    description: 'the topic its sender published it on, for UMH',
  })
  topic(name: string): string {
    return name;
  }

  @Help('after')
  readingHelp(): string {
    return `
A document without a time of its own has the time of its file, but no earlier one than the document before it.
Hidden files and links to folders are skipped. docs/erp says what is read of each format.`;
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
