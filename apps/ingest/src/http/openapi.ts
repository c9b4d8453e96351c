/** Description of the HTTP interface, served as `GET /openapi.json`. */
export const OPENAPI = {
  openapi: '3.1.0',
  info: {
    title: 'machine-bridge ingest',
    version: '1',
    description:
      'Takes orders, lists, reasons and CloudEvents by HTTP, and writes them to the input topics of the bridge.',
  },
  security: [{ token: [] }, { certificate: [] }, { signature: [] }, {}],
  paths: {
    '/orders': {
      options: handshake(),
      post: documentPost('orders', 'An order, in any format that the bridge reads'),
    },
    '/lists': {
      options: handshake(),
      post: documentPost('lists', 'The work order list of a machine, or those of several'),
    },
    '/reasons': {
      options: handshake(),
      post: documentPost('reasons', 'The downtime reason of a period of a machine'),
    },
    '/events': {
      options: handshake(),
      post: {
        ...documentPost(
          'events',
          'CloudEvents in binary, structured or batched mode, by their type',
        ),
        requestBody: {
          required: true,
          content: {
            'application/cloudevents+json': { schema: reference('Event') },
            'application/cloudevents-batch+json': {
              schema: { type: 'array', maxItems: 1000, items: reference('Event') },
            },
            '*/*': { schema: {} },
          },
        },
      },
    },
  },
  components: {
    securitySchemes: {
      token: { type: 'http', scheme: 'bearer' },
      certificate: { type: 'mutualTLS' },
      signature: {
        ...{ type: 'apiKey', in: 'header', name: 'webhook-signature' },
        description: 'Standard Webhooks: with webhook-id and webhook-timestamp',
      },
    },
    schemas: {
      Place: {
        type: 'object',
        required: ['id', 'topic', 'partition', 'offset'],
        properties: {
          id: { type: 'string', description: "the sender's id, or a random one" },
          topic: { type: 'string' },
          partition: { type: 'integer', minimum: 0 },
          offset: { type: 'integer', minimum: 0 },
        },
      },
      Preview: {
        type: 'object',
        required: ['topic', 'key', 'reading'],
        properties: {
          topic: { type: 'string' },
          key: { type: 'string' },
          reading: { type: 'object', description: 'what the bridge would make of it' },
        },
      },
      Refusal: {
        type: 'object',
        required: ['code', 'message'],
        properties: { code: { type: 'string' }, message: { type: 'string' } },
      },
      Event: {
        type: 'object',
        required: ['specversion', 'id', 'source', 'type'],
        properties: {
          specversion: { const: '1.0' },
          id: { type: 'string', minLength: 1, maxLength: 256 },
          source: { type: 'string', minLength: 1 },
          type: { type: 'string', minLength: 1 },
          datacontenttype: { type: 'string' },
          data: {},
          data_base64: { type: 'string' },
        },
      },
    },
  },
};

function handshake() {
  const description = 'may be sent to: WebHook-Allowed-Origin is *';
  return {
    summary: 'The handshake of CloudEvents webhooks',
    security: [{}],
    responses: { 200: { description } },
  };
}

function documentPost(operationId: string, summary: string) {
  const header = (name: string, description: string) => ({
    ...{ name, description, in: 'header', schema: { type: 'string' } },
  });
  return {
    operationId,
    summary,
    parameters: [
      {
        ...{ name: 'dry-run', in: 'query', allowEmptyValue: true, schema: { type: 'string' } },
        description: 'answers what the bridge would make of it, and writes nothing',
      },
      {
        ...{ name: 'sender', in: 'query', schema: { type: 'string' } },
        description: 'whose signature it is, where several senders sign',
      },
      header('Idempotency-Key', 'the id under which it is written once, for a day'),
      header(
        'ce-id',
        'of a CloudEvent in binary mode, as are ce-source, ce-type and ce-specversion',
      ),
    ],
    requestBody: { required: true, content: { '*/*': { schema: {} } } },
    responses: {
      200: answer('written before under the same id, or a dry run', 'Place', 'Preview'),
      202: answer('written: all in-sync replicas have it', 'Place'),
      400: answer(
        'the bridge would refuse it whole, or a header or parameter is ambiguous',
        'Refusal',
      ),
      401: answer('the sender is not known', 'Refusal'),
      403: answer('the sender may not use this path', 'Refusal'),
      422: answer('the id came before, or in the same batch, with another body', 'Refusal'),
      408: { description: 'the request was not whole within ten seconds' },
      413: answer('too large', 'Refusal'),
      415: answer('a content-encoding, or a content-type that is none', 'Refusal'),
      429: retryable('more than the sender may send'),
      503: retryable('Kafka is away, or takes less than is sent'),
    },
  };
}

/** A response with one of these schemas, or for a batch a list of them. */
function answer(description: string, ...schemas: string[]) {
  const one = schemas.map(reference);
  const isRefusal = schemas.includes('Refusal');
  const lists = isRefusal ? [] : one.map((items) => ({ type: 'array', items }));
  return {
    description,
    content: { 'application/json': { schema: { anyOf: [...one, ...lists] } } },
  };
}

function retryable(description: string) {
  const retryAfter = { description: 'seconds', required: true, schema: { type: 'integer' } };
  return { ...answer(description, 'Refusal'), headers: { 'Retry-After': retryAfter } };
}

function reference(name: string) {
  return { $ref: `#/components/schemas/${name}` };
}
