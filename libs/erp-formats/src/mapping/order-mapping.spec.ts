import type { OrderMessage, Parsed } from '#libs/contracts';
import { BoundedExpressions, expressionFault } from '#libs/expressions';

import { epochSeconds } from '../../test/read-messages.js';
import { readXml } from '../xml/read-xml.js';
import { OrderMapping, parseOrderMapping, plainValue } from './order-mapping.js';
import { SettingsFileError } from '../document/settings-file.js';

const TYPE = 'application/vnd.acme.job+json';
const EXPRESSION = `{
  "orderId": job.no, "changedAt": job.at, "status": job.open ? "released" : "completed",
  "operations": [job.steps.{ "operationId": id, "machineId": machine }]
}`;
const JOB = { no: '77', at: 1_763_680_000, open: true, steps: [{ id: '10', machine: 'M-1' }] };

const expressions = new BoundedExpressions();
afterAll(() => {
  expressions.closeEvaluator();
});

const mappingOf = (...entries: object[]) =>
  new OrderMapping(
    parseOrderMapping(JSON.stringify(entries), 'json', expressionFault),
    expressions,
  );
async function read(
  expression: string,
  body: string | object,
  contentType = TYPE,
  { timeZone = 'UTC', recordedAt = 17 } = {},
) {
  const document = {
    contentType,
    body: Buffer.from(typeof body === 'string' ? body : JSON.stringify(body)),
    sourceTopic: 'acme/jobs',
    recordedAt,
  };
  const mapping = mappingOf({ name: 'acme', contentType, expression });
  const reading = mapping.readWithMapping(document, { timeZone });
  if (reading === undefined) throw new Error('no mapping found');
  return reading;
}
const refusal = (result: Parsed<OrderMessage[]>): string =>
  result.ok ? 'read' : `${result.rejection.code}: ${result.rejection.detail}`;

describe('a mapping', () => {
  const expected: OrderMessage = {
    kind: 'snapshot',
    order: {
      orderId: '77',
      changedAt: 1_763_680_000,
      status: 'released',
      operations: [{ operationId: '10', machineId: 'M-1', status: 'released' }],
    },
  };

  it('makes an order of a document', async () => {
    expect(await read(EXPRESSION, { job: JOB })).toEqual({ ok: true, value: [expected] });
  });

  it('makes several orders of one document', async () => {
    const jobs = [JOB, { ...JOB, no: '78' }];
    const result = await read(EXPRESSION.replaceAll('job.', '').replace('{', 'jobs.{'), { jobs });

    expect(result.ok && result.value.map(({ order }) => order.orderId)).toEqual(['77', '78']);
  });

  it('has the topic and content type of a document as variables', async () => {
    const expression =
      '{"orderId": $topic, "changedAt": $recordedAt, "status": "planned", "operations": []}';

    expect(await read(expression, {})).toMatchObject({
      value: [{ order: { orderId: 'acme/jobs', changedAt: 17 } }],
    });
  });

  it('may leave times without an offset, which are local times of the plant', async () => {
    const expression = `{
      "orderId": "77", "changedAt": at, "status": "released",
      "operations": [start.{ "operationId": $, "machineId": "M-1", "plannedStart": $ }]
    }`;
    const start = ['2024-03-20 06:00:00', '2024-07-01T06:00:00.5', '2024-03-20T06:00:00Z'];
    // the clock showed it twice, and the record was written after the second time
    const body = { at: '2024-10-27T02:30:00', start };
    const berlin = { timeZone: 'Europe/Berlin', recordedAt: epochSeconds('2024-10-27T01:31:00Z') };
    const result = await read(expression, body, TYPE, berlin);
    const [order] = result.ok ? result.value.map((message) => message.order) : [];

    expect(order?.changedAt).toBe(epochSeconds('2024-10-27T01:30:00Z'));
    expect(order?.operations?.map(({ plannedStart }) => plannedStart)).toEqual(
      ['2024-03-20T05:00:00Z', '2024-07-01T04:00:00Z', '2024-03-20T06:00:00Z'].map(epochSeconds),
    );
  });

  it.each(['2024-10-27', '2024-02-30T06:00:00', '27.10.2024 02:30:00', '9999-12-31T00:00:00'])(
    'refuses an invalid time, or one too far ahead: %s',
    async (at) => {
      const expression = `{"orderId": "77", "changedAt": "${at}", "status": "held", "operations": []}`;

      expect(refusal(await read(expression, {}))).toContain('result: changedAt must be');
    },
  );

  it('refuses a document with a number that JavaScript reads as infinite', async () => {
    const job = JSON.stringify({ job: JOB }).replace('true', '1e400');
    expect(refusal(await read(EXPRESSION, job))).toContain(
      'invalid-message: mapping acme: a number',
    );
  });

  it('has XML as objects', async () => {
    const xml = '<a:jobs><job no="1">x<id>0010</id></job><job/><__proto__>y</__proto__></a:jobs>';
    const root = readXml(Buffer.from(xml));

    expect(root.ok && JSON.stringify(plainValue({ root: root.value }))).toBe(
      '{"jobs":{"job":[{"@no":"1","#text":"x","id":"0010"},""],"__proto__":"y"}}',
    );
    const expression =
      '{"orderId": jobs.job[0].id, "changedAt": 1, "status": "planned", "operations": []}';
    expect(await read(expression, xml, 'application/xml')).toMatchObject({
      value: [{ order: { orderId: '0010' } }],
    });
  });

  it('has XML elements by their written names, also those that B2MML renames in another release', async () => {
    const segment = '<SegmentRequirement><ID>10</ID><SegmentRequirementChild><ID>11</ID>';
    const xml = `<WorkSchedule>${segment}</SegmentRequirementChild></SegmentRequirement></WorkSchedule>`;
    const id = 'WorkSchedule.SegmentRequirement.SegmentRequirementChild.ID';
    const expression = `{"orderId": ${id}, "changedAt": 1, "status": "planned", "operations": []}`;
    expect(await read(expression, xml, 'application/xml')).toMatchObject({
      value: [{ order: { orderId: '11' } }],
    });
  });

  it.each([
    ['that is no JSON', EXPRESSION, '{', 'invalid-json'],
    ['of which it makes nothing', 'jobs', {}, 'mapping acme: the expression yields nothing'],
    [
      'of which it makes no order',
      '"x"',
      {},
      'mapping acme, result: the message must be an object',
    ],
    ['of which it makes half an order', EXPRESSION, {}, 'mapping acme, result: orderId is missing'],
    [
      'of which one order is none',
      'jobs',
      { jobs: [expected.order, {}] },
      'mapping acme, result[1]: orderId is missing',
    ],
    [
      'of which it makes too many orders',
      'jobs',
      { jobs: Array(10_001).fill(0) },
      'too-large: mapping acme: the expression yields 10001 orders',
    ],
  ])('refuses a document %s', async (_name, expression, body, complaint) => {
    expect(refusal(await read(expression, body))).toContain(complaint);
  });
});

describe('an expression that fails', () => {
  it.each([
    ['on its input', 'a.b + 1', 'JSONata error T2001 at character 5'],
    ['of its own will', '$error("the password is hunter2")', 'JSONata error D3137 at character 7'],
    ['too deep', '($f := function($x) { 1 + $f($x + 1) }; $f(0))', 'deeper than 500 levels'],
    ['with a long range', '[1..1000000]', 'longer than 100000 entries'],
    ['with long lists', '[1..400].([1..400])', 'longer than 100000 entries'],
    ['with code of the document', '$eval(code)', '$eval is not available'],
  ])('is a rejection: %s', async (_name, expression, complaint) => {
    const body = { a: { b: 'hunter2' }, code: '1 + 1' };
    const detail = refusal(await read(expression, body));

    expect(detail).toMatch(/^invalid-message: mapping acme: /);
    expect(detail).toContain(complaint);
    expect(detail).not.toContain('hunter2');
  });
});

describe('a mapping file', () => {
  const entry = { contentType: TYPE, expression: '$' };

  it('may be YAML, with an expression of several lines', () => {
    const yaml = `- topic: acme/*\n  expression: |\n    {\n      "orderId": no\n    }\n`;

    expect(parseOrderMapping(yaml, 'yaml', expressionFault)).toEqual([
      { name: '1', topic: 'acme/*', expression: '{\n  "orderId": no\n}\n' },
    ]);
  });

  it.each([
    ['no list', {}, 'must be a list of at least one entry'],
    ['an empty list', [], 'must be a list of at least one entry'],
    ['an entry that is none', ['$'], 'entry 1 of the mapping must be an object'],
    ['an entry for no document', [{ expression: '$' }], 'entry 1 .* neither contentType nor topic'],
    ['a misspelt criterion', [{ ...entry, contenttype: 'x' }], 'contenttype is no field'],
    ['an entry without an expression', [entry, { topic: 'x' }], 'entry 2 .* has no expression'],
    ['a number for a topic', [{ ...entry, topic: 1 }], 'topic must be text'],
    [
      'an expression that is none',
      [{ ...entry, expression: '{"a": }' }],
      'entry 1 .*, expression: JSONata error S\\d+ at character 7',
    ],
  ])('is refused with %s', (_name, content, complaint) => {
    const parse = (): unknown =>
      parseOrderMapping(JSON.stringify(content), 'json', expressionFault);

    expect(parse).toThrow(SettingsFileError);
    expect(parse).toThrow(new RegExp(complaint));
  });

  it.each([
    [{ contentType: 'Application/VND.acme.job+json; v=1' }, null, TYPE, true],
    [{ contentType: TYPE }, null, 'application/json', false],
    [{ topic: 'acme/jobs' }, 'acme/jobs', null, true],
    [{ topic: 'acme/jobs' }, 'acme/jobs/1', null, false],
    [{ topic: 'acme/*' }, 'acme/jobs/1', null, true],
    [{ topic: '*/jobs/*' }, 'acme/jobs/1', null, true],
    [{ topic: 'acme/*/jobs' }, 'acme/jobs', null, false],
    [{ topic: 'acme/*' }, null, null, false],
    [{ topic: 'erp.work-orders.v1' }, null, null, true],
    [{ topic: 'erp.work-orders.v1' }, 'acme/jobs', null, false],
    [{ topic: 'acme/*', contentType: TYPE }, 'acme/jobs', 'text/xml', false],
  ])(
    'has an entry %j for documents of topic %j and type %j: %j',
    (criteria, topic, type, found) => {
      const document = { contentType: type, sourceTopic: topic, body: Buffer.alloc(0) };

      const reading = mappingOf({ ...criteria, expression: '$' }).readWithMapping(document, {
        timeZone: 'UTC',
      });
      expect(reading !== undefined).toBe(found);
    },
  );
});
