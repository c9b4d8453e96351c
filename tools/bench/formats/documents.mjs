import { readFile } from 'node:fs/promises';

const FOLDER = new URL('../../../examples/orders/', import.meta.url);
const UMH_TOPIC = 'umh.v1.acme.north.hall-3.line-1.cell-2._analytics.work-order.start';
const FIELD_OF_NO_CONCERN = 'a text that the bridge does not read';

/** What of a document is given again and again in a longer one: by the place in its JSON, or as it is written. */
const REPEATED = [
  { file: 'b2mml.xml', written: /<JobOrder>\s*<ID>JO-1[^]*?<\/JobOrder>/, id: 'JO-1' },
  { file: 'sap-idoc.xml', written: /<E1AFVOL[^]*?<\/E1AFVOL>/, id: '0010' },
  { file: 'canonical.json', at: ({ operations }) => operations, id: '0010' },
  { file: 'sap-odata.json', at: ({ d }) => d.results, id: '1000236' },
  { file: 'sap-odata-v4.json', at: ({ value }) => value, id: '000001000301' },
  { file: 'dynamics.json', at: ({ value }) => value, id: 'P000301' },
  { file: 'oracle.json', at: ({ items }) => items, id: '1000-301' },
  { file: 'erpnext.json', at: ({ data }) => data.operations, id: '"idx":1' },
  // one order each, however long the document is
  { file: 'opc-job-order.json', at: ({ StoreAndStart: { JobOrder } }) => JobOrder },
  { file: 'odoo.json', at: (document) => document },
  { file: 'umh.json', at: (document) => document, sourceTopic: UMH_TOPIC },
];

/**
 * The examples of all formats, as functions of a length in bytes: an example with as many orders or operations as
 * fit, each under a number of its own, or with fields of no concern where it holds only one.
 */
export async function exampleDocuments() {
  const documents = await Promise.all(REPEATED.map(readExample));
  const b2mml = documents.find(({ name }) => name === 'b2mml');
  return [...documents, { name: 'b2mml in JSON', sourceTopic: null, ofLength: b2mmlInJson }].map(
    (document) => (document === b2mml ? { ...document, name: 'b2mml in XML' } : document),
  );
}

async function readExample({ file, written, at, id, sourceTopic = null }) {
  const text = await readFile(new URL(file, FOLDER), 'utf8');
  const ofLength = (bytes) =>
    written === undefined
      ? longJson(text, { at, id, bytes })
      : longXml(text, { written, id, bytes });
  return { name: file.replace(/\.\w+$/, ''), sourceTopic, ofLength };
}

function longXml(text, { written, id, bytes }) {
  const [part] = written.exec(text);
  const more = partsOf(part, id, bytes - text.length);
  return text.replace(part, () => [part, ...more].join('\n'));
}

function longJson(text, { at, id, bytes }) {
  const document = JSON.parse(text);
  const place = at(document);
  const room = bytes - JSON.stringify(document).length;
  if (Array.isArray(place)) {
    const more = partsOf(JSON.stringify(place[0]), id, room);
    place.push(...more.map((part) => JSON.parse(part)));
  } else {
    const length = FIELD_OF_NO_CONCERN.length + 15;
    for (let number = 0; number < room / length; number += 1) {
      place[`Field${String(number).padStart(4, '0')}`] = FIELD_OF_NO_CONCERN;
    }
  }
  return JSON.stringify(document);
}

function b2mmlInJson(bytes) {
  const jobOrder = {
    ID: 'JO-1',
    StartTime: '2024-03-20T06:00:00Z',
    EquipmentRequirement: [{ EquipmentID: 'MILL-4' }],
  };
  const more = partsOf(JSON.stringify(jobOrder), 'JO-1', bytes - 350);
  const jobOrders = [jobOrder, ...more.map((part) => JSON.parse(part))];
  return JSON.stringify({
    SyncWorkSchedule: {
      ApplicationArea: { CreationDateTime: '2024-03-18T09:15:02Z' },
      DataArea: {
        WorkSchedule: {
          HierarchyScope: { EquipmentID: 'North', EquipmentElementLevel: 'Site' },
          ScheduleState: 'Released',
          WorkRequest: [{ ID: 'WR-7', JobOrder: jobOrders }],
        },
      },
    },
  });
}

/** Copies of a part, each with another number in the place of `id`, together of `bytes`. */
function partsOf(part, id, bytes) {
  const parts = [];
  for (let left = bytes; left >= part.length; left -= parts.at(-1).length + 1) {
    const number = String(100 + parts.length);
    parts.push(part.replaceAll(id, id.replace(/\d+$/, number)));
  }
  return parts;
}
