import { Validator } from '@seriousme/openapi-schema-validator';
import { Ajv } from 'ajv';
import { type Document, OpenAPIClientAxios } from 'openapi-client-axios';
import { uniqueTopicPrefix } from '../support/kafka.js';
import { type Place, RunningIngest } from '../support/running-ingest.js';

const ORDER = {
  orderId: '4711',
  changedAt: 1_763_680_000,
  status: 'released',
  operations: [{ operationId: '0010', machineId: 'M-1', status: 'released' }],
};
const LIST = { machineId: 'M-1', workingOrders: ['4711', '4712'] };
const REASON = { machineId: 'M-2', reasonId: '22', startTime: 1_763_680_000 };
const EVENT = { specversion: '1.0', source: '/erp', type: 'erp.work-order-lists.v1', data: LIST };
const BATCHED = { 'content-type': 'application/cloudevents-batch+json' };

interface Description {
  paths: Record<string, { post: { responses: Record<string, Described> } }>;
  components: object;
}

interface Described {
  content: { 'application/json': { schema: object } };
}

describe('the OpenAPI description of ingest', () => {
  let ingest: RunningIngest;
  let description: Description;

  beforeAll(async () => {
    ingest = await (await RunningIngest.start(uniqueTopicPrefix())).ready();
    description = (await (await fetch(`${ingest.url}/openapi.json`)).json()) as Description;
  });

  afterAll(() => ingest.close());

  it('conforms to the schema of OpenAPI 3.1', async () => {
    const validator = new Validator();
    expect(await validator.validate({ ...description })).toEqual({ valid: true });
    expect(validator.version).toBe('3.1');
    const { paths } = description;
    const broken = { ...description, paths: { '/lists': { post: { responses: paths } } } };
    expect(await validator.validate(broken)).toMatchObject({ valid: false });
  });

  it('lets a generated client post to each path, once per id', async () => {
    const client = await new OpenAPIClientAxios({
      definition: description as unknown as Document,
      axiosConfigDefaults: { baseURL: ingest.url },
    }).init();
    const posted: [operation: string, body: object, id: Record<string, string>][] = [
      ['orders', ORDER, { 'Idempotency-Key': 'order-1' }],
      ['lists', LIST, { 'Idempotency-Key': 'list-1' }],
      ['reasons', REASON, { 'Idempotency-Key': 'reason-1' }],
    ];
    for (const [operation, body, id] of posted) {
      const first = await client[operation]!(id, body);
      const again = await client[operation]!(id, body);
      const statuses = [first.status, again.status];
      expect([operation, statuses, again.data]).toEqual([operation, [202, 200], first.data]);
      expect((first.data as Place).id).toBe(id['Idempotency-Key']);
    }
    const batch = ['e-1', 'e-2'].map((id) => ({ ...EVENT, id }));
    const events = await client['events']!({}, batch, { headers: BATCHED });
    expect((events.data as Place[]).map(({ id }) => id)).toEqual(['e-1', 'e-2']);
    const preview = await client['orders']!({ 'dry-run': 'true' }, ORDER);
    expect(preview.data).toMatchObject({ key: '4711' });
  });

  it('describes the actual answers', async () => {
    const { paths, components } = description;
    const tried: [path: string, body: unknown, headers?: Record<string, string>][] = [
      ['/lists', LIST, { 'idempotency-key': 'described' }],
      ['/lists', LIST, { 'idempotency-key': 'described' }],
      ['/lists', { ...LIST, workingOrders: [] }, { 'idempotency-key': 'described' }],
      ['/orders', '{'],
      ['/reasons', Buffer.alloc(1_048_577)],
      ['/reasons', REASON, { origin: 'https://evil.example' }],
      ['/reasons', REASON, { 'content-encoding': 'gzip' }],
      ['/reasons', REASON, { 'content-type': 'none' }],
      ['/orders?dry-run', ORDER],
      ['/events', [{ ...EVENT, id: 'd-1' }], BATCHED],
    ];
    const statuses: number[] = [];
    for (const [path, body, headers] of tried) {
      const answer = await ingest.post(path, body, headers);
      statuses.push(answer.status);
      const described = paths[path.split('?')[0]!]?.post.responses[answer.status];
      const schema = { components, ...described?.content['application/json'].schema };
      const validate = new Ajv({ strict: false }).compile(schema);
      const text: unknown = await answer.json();
      expect([path, text, validate(text) || validate.errors]).toEqual([path, text, true]);
    }
    expect(statuses).toEqual([202, 200, 422, 400, 413, 403, 415, 415, 200, 202]);
  });
});
