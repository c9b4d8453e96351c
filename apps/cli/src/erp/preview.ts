import { type ErpSettings, loadErpSettings, readEnvironment, SettingsError } from '#libs/config';
import {
  offsetSeconds,
  type OperationChange,
  type OrderMessage,
  type OrderOperation,
  parsed,
  type Parsed,
  type Rejection,
} from '#libs/contracts';
import {
  type EnrichmentRules,
  enrichmentUrl,
  type EquipmentMap,
  OrderMapping,
  type ThinEvent,
  UMH_TOPIC_MISSING,
} from '#libs/erp-formats';
import { BoundedExpressions } from '#libs/expressions';
import { OrderPreview, type PreviewedDocument } from '#libs/order-preview';
import { type CliCommand, JSON_OPTION, type JsonOptions } from '../command-line/command.js';
import { readNotEmpty, readPath } from '../command-line/option-values.js';
import { counted, print, printStatus, visible, visibleJson } from '../command-line/output.js';
import {
  type FileRecord,
  FileRecords,
  findSourceFiles,
  type RecordOptions,
} from './source-files.js';

interface PreviewOptions extends RecordOptions, JsonOptions {
  map?: string;
  mapping?: string;
  timeZone?: string;
}

/** `erp preview <file|folder>…`: shows the effect of documents. Exit code 1 if the bridge would reject one. */
export function addPreviewCommand(erp: CliCommand): void {
  const path = (file: string): string => readPath(readNotEmpty(file));
  erp
    .command('preview')
    .argument('<files...>')
    .description(
      `Shows what the bridge would do with documents on erp.work-orders.v1, without doing it.

Files are read as messages in this order, those of a folder and its subfolders by name. Machines are not looked up: \
whether the service knows them is not checked.`,
    )
    .option('--map <file>', 'equipment map, in place of EQUIPMENT_MAP_FILE', path)
    .option('--mapping <file>', 'expressions, in place of ERP_MAPPING_FILE', path)
    .option(
      '--time-zone <zone>',
      'of local times, read and printed, in place of ERP_TIME_ZONE',
      readNotEmpty,
    )
    .option('--content-type <type>', 'the content-type header of the message', readNotEmpty)
    .option('--topic <name>', 'the topic its sender published it on, for UMH', readNotEmpty)
    .option(...JSON_OPTION)
    .addHelpText(
      'after',
      `
A document without a time of its own has the time of its file, but no earlier one than the document before it.
Hidden files and links to folders are skipped. docs/erp says what is read of each format.`,
    )
    .action(previewFiles);
}

async function previewFiles(
  files: string[],
  options: PreviewOptions,
  command: CliCommand,
): Promise<void> {
  const erp = erpSettings(options, command);
  const mapping = new OrderMapping(erp.mapping, new BoundedExpressions());
  try {
    const { files: found, skipped } = await findSourceFiles(files);
    for (const what of skipped) printStatus(`not read: ${visible(what)}`);
    if (found.length === 0) throw new Error(`no file to read in ${files.join(', ')}`);
    const records = new FileRecords(options, erp.enrichment);
    const preview = new OrderPreview(erp, mapping);
    const show = options.json === true ? jsonLines : textLines;
    let rejections = 0;
    for (const { name, path } of found) {
      const document = await previewRecord(await records.readRecord(path), preview);
      show(name, document, erp).forEach(print);
      // an unreadable file counts as a rejection
      if (document instanceof Error || !document.ok) rejections += 1;
      else if (!('asksFor' in document.value)) rejections += document.value.rejections.length;
    }
    showLists(preview, options.json === true);
    if (rejections === 0) return;
    throw new Error(`${counted(rejections, 'rejection')}: see the lines with !`);
  } finally {
    mapping.closeExpressions();
  }
}

type ReadDocument = Parsed<PreviewedDocument | { asksFor: ThinEvent }> | Error;

function previewRecord(
  record: Parsed<FileRecord> | Error,
  preview: OrderPreview,
): Promise<ReadDocument> {
  if (record instanceof Error || !record.ok) return Promise.resolve(record);
  const { value } = record;
  return 'asksFor' in value ? Promise.resolve(parsed(value)) : preview.previewDocument(value);
}

function textLines(name: string, document: ReadDocument, erp: ErpSettings): string[] {
  if (document instanceof Error) {
    return [visible(name), `  ! cannot be read: ${visible(document.message)}`];
  }
  if (!document.ok) return [visible(name), rejectionLine(document.rejection)];
  const { value } = document;
  const lines =
    'asksFor' in value ? [askedLine(value.asksFor, erp.enrichment)] : documentLines(value, erp);
  return [visible(name), ...lines];
}

function jsonLines(file: string, document: ReadDocument): string[] {
  if (document instanceof Error) return [visibleJson({ file, unreadable: document.message })];
  const preview = document.ok ? document.value : { rejections: [document.rejection] };
  return [visibleJson({ file, ...preview })];
}

function showLists(preview: OrderPreview, json: boolean): void {
  if (!json) print('lists in the end');
  for (const [machineId, workingOrders] of preview.lists()) {
    print(json ? visibleJson({ machineId, workingOrders }) : listLine(machineId, workingOrders));
  }
}

/** Reports a fault of an option as wrong use, with the option's value. @throws SettingsError for faults of settings */
function erpSettings({ map, mapping, timeZone }: PreviewOptions, command: CliCommand): ErpSettings {
  const given = [
    { setting: 'EQUIPMENT_MAP_FILE', option: '--map', value: map },
    { setting: 'ERP_MAPPING_FILE', option: '--mapping', value: mapping },
    { setting: 'ERP_TIME_ZONE', option: '--time-zone', value: timeZone },
  ].filter(({ value }) => value !== undefined);
  const settings = given.map(({ setting, value }) => [setting, value] as const);
  try {
    return loadErpSettings({ ...readEnvironment(), ...Object.fromEntries(settings) });
  } catch (error) {
    if (!(error instanceof SettingsError)) throw error;
    const optionOf = new Map(
      given.map(({ setting, option, value = '' }) => [setting, `${option} ${visible(value)}`]),
    );
    const problems = error.problems.map((problem) =>
      problem.replace(/^\w+/, (setting) => optionOf.get(setting) ?? setting),
    );
    if (!problems.some((problem) => problem.startsWith('--'))) throw error;
    command.refuseUsage(problems.join('\n  '));
  }
}

type Operation = OrderOperation | OperationChange;

export function documentLines(
  { messages, machineIds, rejections, superseded }: PreviewedDocument,
  { equipmentMap, timeZone }: Pick<ErpSettings, 'equipmentMap' | 'timeZone'>,
): string[] {
  const clock = clockIn(timeZone);
  return [
    ...messages.flatMap((message) => orderLines(message, equipmentMap, clock)),
    ...superseded.map((detail) => `  - superseded: ${visible(detail)}`),
    ...rejections.map(rejectionLine),
    machineIds.length === 0
      ? '  no list would be set'
      : `  would set the list of ${machineIds.map(visible).join(', ')}`,
  ];
}

function askedLine({ rule: name, orderId, values }: ThinEvent, { all }: EnrichmentRules): string {
  const rule = all.find((each) => each.name === name);
  const url = rule === undefined ? '' : `: GET ${enrichmentUrl(rule, values)}`;
  return `  would ask for order ${visible(orderId)} by the rule ${name}${url}`;
}

/** Names the option that replaces a header, because a file has neither headers nor a key. */
function rejectionLine({ code, detail }: Rejection): string {
  const remedy = detail.endsWith(UMH_TOPIC_MISSING) ? '; --topic gives it here' : '';
  return `  ! rejected as ${code}: ${visible(detail)}${remedy}`;
}

function listLine(machineId: string, workingOrders: readonly string[]): string {
  const entries = workingOrders.length === 0 ? '(empty)' : workingOrders.map(visible).join(', ');
  return `  ${visible(machineId)}: ${entries}`;
}

function orderLines(
  { kind, order }: OrderMessage,
  equipment: EquipmentMap,
  clock: ZoneClock,
): string[] {
  const { orderId, status, changedAt, operations = [] } = order;
  const what = kind === 'snapshot' ? 'order' : 'change of order';
  return [
    `  ${what} ${visible(orderId)}: ${status ?? 'status as before'}, changed ${clock(changedAt)}`,
    ...operations.map((operation) => `    ${operationLine(operation, equipment, clock)}`),
  ];
}

function operationLine(operation: Operation, equipment: EquipmentMap, clock: ZoneClock): string {
  const { operationId, status, sequence, plannedStart, machineId } = operation;
  const place = machineId === undefined ? placeLine(operation, equipment) : visible(machineId);
  return [
    `${visible(operationId)}: ${status ?? 'status as before'} on ${place}`,
    ...(sequence === undefined || sequence === 0 ? [] : [`sequence ${sequence}`]),
    ...(plannedStart === undefined ? [] : [`planned start ${clock(plannedStart)}`]),
  ].join(', ');
}

function placeLine({ plant, workCentre, ...operation }: Operation, map: EquipmentMap): string {
  if (workCentre === undefined) return 'the place known before';
  const place = visible(`${plant ?? '?'}/${workCentre}`);
  const machineId = map.machineOf({ ...operation, plant, workCentre } as OrderOperation);
  return machineId === undefined ? `${place}, not mapped` : `${place} = ${visible(machineId)}`;
}

/** The local time of an instant (epoch seconds) in an IANA zone, with its offset from UTC: RFC 3339. */
type ZoneClock = (epochSeconds: number) => string;

function clockIn(timeZone: string): ZoneClock {
  return (epochSeconds) => {
    const offset = offsetSeconds(epochSeconds, timeZone);
    const shown = new Date((epochSeconds + offset) * 1000).toISOString().replace(/\.\d+Z$/, '');
    return `${shown}${offsetText(Math.trunc(offset / 60))}`;
  };
}

function offsetText(minutes: number): string {
  if (minutes === 0) return 'Z';
  const digits = (value: number): string => String(Math.trunc(value)).padStart(2, '0');
  const ahead = Math.abs(minutes);
  return `${minutes < 0 ? '-' : '+'}${digits(ahead / 60)}:${digits(ahead % 60)}`;
}
