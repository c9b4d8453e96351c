import { readFile } from 'node:fs/promises';

const FOLDER = new URL('../../../examples/orders/', import.meta.url);
const UMH_TOPIC = 'umh.v1.acme.north.hall-3.line-1.cell-2._analytics.work-order.start';

/**
 * Examples by format, with the order or operation that a longer document repeats. Without an `id` a document holds one.
 */
const EXAMPLES = [
  { file: 'b2mml.xml', part: /<JobOrder>\s*<ID>JO-1[^]*?<\/JobOrder>/, id: 'JO-1' },
  { file: 'sap-idoc.xml', part: /<E1AFVOL[^]*?<\/E1AFVOL>/, id: '0010' },
  { file: 'canonical.json', parts: ({ operations }) => operations, id: '0010' },
  { file: 'sap-odata.json', parts: ({ d }) => d.results, id: '1000236' },
  { file: 'sap-odata-v4.json', parts: ({ value }) => value, id: '000001000301' },
  { file: 'dynamics.json', parts: ({ value }) => value, id: 'P000301' },
  { file: 'oracle.json', parts: ({ items }) => items, id: '1000-301' },
  { file: 'erpnext.json', parts: ({ data }) => data.operations, id: '"idx":1' },
  { file: 'opc-job-order.json', parts: ({ StoreAndStart: { JobOrder } }) => [JobOrder] },
  { file: 'odoo.json', parts: (document) => [document] },
  { file: 'umh.json', parts: (document) => [document], sourceTopic: UMH_TOPIC },
];

/**
 * The examples of all formats, as functions of a length in bytes: with as many orders or operations as fit, each filled
 * up to `partBytes` by fields that the bridge does not read; an ERP's orders have a hundred of these.
 */
export async function exampleDocuments() {
  const documents = [];
  for (const { file, sourceTopic = null, ...example } of EXAMPLES) {
    const text = await readFile(new URL(file, FOLDER), 'utf8');
    const lengthen = file.endsWith('.xml') ? longXml : longJson;
    const ofLength = (bytes, partBytes) => lengthen(text, { ...example, bytes, partBytes });
    documents.push({ name: file.replace(/\.\w+$/, ''), sourceTopic, ofLength });
  }
  return [...documents, { name: 'b2mml in JSON', sourceTopic: null, ofLength: b2mmlInJson }];
}

function longXml(text, { part, id, bytes, partBytes }) {
  const [short] = part.exec(text);
  const end = short.lastIndexOf('</');
  const room = bytes - text.length;
  const missing = Math.min(partBytes - short.length, room);
  const long = short.slice(0, end) + fields(missing, xmlField) + short.slice(end);
  const others = copies(long, id, room + short.length - long.length);
  return text.replace(short, () => [long, ...others].join('\n'));
}

const xmlField = (name, value) => `<${name}>${value}</${name}>`;
const jsonField = (name, value) => `"${name}":"${value}",`;

function longJson(text, { parts: partsIn, id, bytes, partBytes }) {
  const document = JSON.parse(text);
  const parts = partsIn(document);
  const room = bytes - JSON.stringify(document).length;
  const short = JSON.stringify(parts[0]);
  const missing = id === undefined ? room : Math.min(partBytes - short.length, room);
  const long = `{${fields(missing, jsonField)}${short.slice(1)}`;
  Object.assign(parts[0], JSON.parse(long));
  if (id !== undefined) {
    const others = copies(long, id, room + short.length - long.length);
    parts.push(...others.map((other) => JSON.parse(other)));
  }
  return JSON.stringify(document);
}

function b2mmlInJson(bytes, partBytes) {
  const jobOrder = {
    ID: 'JO-1',
    StartTime: '2024-03-20T06:00:00Z',
    EquipmentRequirement: [{ EquipmentID: 'MILL-4' }],
  };
  const request = { ID: 'WR-7', JobOrder: [jobOrder] };
  const schedule = {
    HierarchyScope: { EquipmentID: 'North', EquipmentElementLevel: 'Site' },
    ScheduleState: 'Released',
    WorkRequest: [request],
  };
  const message = {
    ApplicationArea: { CreationDateTime: '2024-03-18T09:15:02Z' },
    DataArea: { WorkSchedule: schedule },
  };
  const text = JSON.stringify({ SyncWorkSchedule: message });
  const parts = ({ SyncWorkSchedule: { DataArea } }) =>
    DataArea.WorkSchedule.WorkRequest[0].JobOrder;
  return longJson(text, { parts, id: 'JO-1', bytes, partBytes });
}

/** Unread fields, of `bytes` at most together. */
function fields(bytes, written) {
  let text = '';
  for (let number = 1000; ; number += 1) {
    const next = written(`Field${number}`, 'a text that the bridge does not read');
    if (text.length + next.length > bytes) return text;
    text += next;
  }
}

/** Copies of a part, each with another number instead of `id`, of `bytes` at most together. */
function copies(part, id, bytes) {
  const found = [];
  for (let left = bytes - part.length; left >= 0; left -= part.length + 1) {
    found.push(part.replaceAll(id, id.replace(/\d+$/, String(100 + found.length))));
  }
  return found;
}
