import type { ErpSettings } from '#libs/config';
import type { OperationChange, OrderMessage, OrderOperation, Rejection } from '#libs/contracts';
import { type EquipmentMap, offsetSeconds, UMH_TOPIC_MISSING } from '#libs/erp-formats';
import type { PreviewedDocument } from '#libs/order-preview';
import { visible } from '../command-line/output.js';

type Operation = OrderOperation | OperationChange;

/** The lines printed for one document. */
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

/** A file has neither headers nor a key: options stand for them. */
export function rejectionLine({ code, detail }: Rejection): string {
  const remedy = detail.endsWith(UMH_TOPIC_MISSING) ? '; --topic gives it here' : '';
  return `  ! rejected as ${code}: ${visible(detail)}${remedy}`;
}

export function unreadableLine({ message }: Error): string {
  return `  ! cannot be read: ${visible(message)}`;
}

export function listLine(machineId: string, workingOrders: readonly string[]): string {
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
export type ZoneClock = (epochSeconds: number) => string;

export function clockIn(timeZone: string): ZoneClock {
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
