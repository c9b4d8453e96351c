import { temporaryFile } from '../test/temporary-files.js';
import { describeBridgeSettings, loadBridgeSettings } from './bridge-settings.js';
import type { Environment } from './environment-reader.js';

const NEEDED = {
  KAFKA_BROKERS: 'kafka:9092',
  MACHINE_CLOUD_BASE_URL: 'https://cloud.example.com',
  MACHINE_CLOUD_TOKEN: 'a-token',
};
const ENDPOINT = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector:4318/' };

const load = (environment: Environment = {}) => loadBridgeSettings({ ...NEEDED, ...environment });

describe('the settings of OpenTelemetry', () => {
  it('export nothing, and cause no warning, without an endpoint', () => {
    const { tracing, unsupported } = load({ OTEL_SERVICE_NAME: 'x', OTEL_TRACES_SAMPLER: 'xray' });
    expect(tracing).toBeUndefined();
    expect(unsupported).toEqual([]);
  });

  it('have the defaults of the specification', () => {
    const { tracing, unsupported } = load(ENDPOINT);
    expect(tracing).toEqual({
      exporter: {
        url: 'http://collector:4318/v1/traces',
        format: 'protobuf',
        headers: {},
        timeoutMs: 10_000,
        isCompressed: false,
      },
      serviceName: 'machine-bridge',
      resourceAttributes: {},
      sampler: { ratio: 1, isParentBased: true },
      queue: { maxSpans: 2048, maxBatch: 512, delayMs: 5000 },
    });
    expect(unsupported).toEqual([]);
  });

  it('are read, those for traces before those for all signals', () => {
    const { tracing, unsupported } = load({
      ...ENDPOINT,
      OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'https://traces.example.com/v2',
      OTEL_EXPORTER_OTLP_HEADERS: 'x-tenant=plant%201,authorization=Basic%20one',
      OTEL_EXPORTER_OTLP_TRACES_HEADERS: 'authorization=Basic%20dHdv==',
      OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc',
      OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: 'http/json',
      OTEL_EXPORTER_OTLP_TIMEOUT: '2000',
      OTEL_EXPORTER_OTLP_COMPRESSION: 'gzip',
      OTEL_SERVICE_NAME: 'bridge-north',
      OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=plant%20north, service.namespace=mes',
      OTEL_TRACES_SAMPLER: 'parentbased_traceidratio',
      OTEL_TRACES_SAMPLER_ARG: '0.01',
      OTEL_BSP_SCHEDULE_DELAY: '100',
      OTEL_BSP_MAX_QUEUE_SIZE: '10000',
      OTEL_BSP_MAX_EXPORT_BATCH_SIZE: '1000',
      OTEL_PROPAGATORS: 'tracecontext, baggage',
      OTEL_METRICS_EXPORTER: 'none',
    });
    expect(tracing).toEqual({
      exporter: {
        url: 'https://traces.example.com/v2',
        format: 'json',
        headers: { 'x-tenant': 'plant 1', authorization: 'Basic dHdv==' },
        timeoutMs: 2000,
        isCompressed: true,
      },
      serviceName: 'bridge-north',
      resourceAttributes: {
        'deployment.environment.name': 'plant north',
        'service.namespace': 'mes',
      },
      sampler: { ratio: 0.01, isParentBased: true },
      queue: { maxSpans: 10_000, maxBatch: 1000, delayMs: 100 },
    });
    expect(unsupported).toEqual([]);
  });

  it.each([
    [{}, 'bridge-south'],
    [{ OTEL_SERVICE_NAME: 'bridge-north' }, 'bridge-north'],
  ])(
    'take the name of the service from its resource, and before that with %o',
    (given, serviceName) => {
      const resource = { OTEL_RESOURCE_ATTRIBUTES: 'service.name=bridge-south' };
      expect(load({ ...ENDPOINT, ...resource, ...given }).tracing).toMatchObject({ serviceName });
    },
  );

  it.each([
    ['always_on', '0.5', { ratio: 1, isParentBased: false }],
    ['always_off', undefined, { ratio: 0, isParentBased: false }],
    ['traceidratio', '0.5', { ratio: 0.5, isParentBased: false }],
    ['parentbased_always_on', undefined, { ratio: 1, isParentBased: true }],
    ['parentbased_always_off', undefined, { ratio: 0, isParentBased: true }],
    ['parentbased_traceidratio', undefined, { ratio: 1, isParentBased: true }],
  ])('know the sampler %s with %s', (name, argument, sampler) => {
    const given = { OTEL_TRACES_SAMPLER: name, OTEL_TRACES_SAMPLER_ARG: argument };
    expect(load({ ...ENDPOINT, ...given }).tracing).toMatchObject({ sampler });
  });

  it.each([{ OTEL_SDK_DISABLED: 'true' }, { OTEL_TRACES_EXPORTER: 'none' }])(
    'export nothing with %o',
    (environment) => {
      const { tracing, unsupported } = load({ ...ENDPOINT, ...environment });
      expect(tracing).toBeUndefined();
      expect(unsupported).toEqual([]);
    },
  );

  it.each([
    ['OTEL_TRACES_EXPORTER', 'zipkin'],
    ['OTEL_EXPORTER_OTLP_PROTOCOL', 'grpc'],
    ['OTEL_EXPORTER_OTLP_TIMEOUT', 'ten'],
    ['OTEL_EXPORTER_OTLP_COMPRESSION', 'zstd'],
    ['OTEL_EXPORTER_OTLP_HEADERS', 'a header'],
    ['OTEL_RESOURCE_ATTRIBUTES', 'key=%zz'],
    ['OTEL_TRACES_SAMPLER', 'xray'],
    ['OTEL_PROPAGATORS', 'b3'],
    ['OTEL_BSP_MAX_QUEUE_SIZE', 'many'],
    ['OTEL_SDK_DISABLED', 'yes'],
    ['OTEL_METRICS_EXPORTER', 'otlp'],
    ['OTEL_NODE_RESOURCE_DETECTORS', 'all'],
  ])('go on without %s=%s, and name it', (name, value) => {
    const { tracing, unsupported } = load({ ...ENDPOINT, [name]: value });
    expect(tracing).toMatchObject({ sampler: { ratio: 1 }, exporter: { headers: {} } });
    expect(unsupported).toMatchObject([{ name }]);
    expect(JSON.stringify(unsupported)).not.toContain(value);
  });

  it('sample all traces where the share is not a number', () => {
    const { tracing, unsupported } = load({
      ...ENDPOINT,
      OTEL_TRACES_SAMPLER: 'traceidratio',
      OTEL_TRACES_SAMPLER_ARG: '1%',
    });
    expect(tracing).toMatchObject({ sampler: { ratio: 1 } });
    expect(unsupported).toMatchObject([{ name: 'OTEL_TRACES_SAMPLER_ARG' }]);
  });

  it.each(['collector:4318', 'grpc://collector:4317', 'http://me:hunter2@collector'])(
    'export nothing to %s, and do not show it',
    (endpoint) => {
      const { tracing, unsupported } = load({ OTEL_EXPORTER_OTLP_ENDPOINT: endpoint });
      expect(tracing).toBeUndefined();
      expect(unsupported).toMatchObject([{ name: 'OTEL_EXPORTER_OTLP_ENDPOINT' }]);
      expect(JSON.stringify(unsupported)).not.toContain('hunter2');
    },
  );

  it.each(['bad header=1', 'name=line%0abreak'])(
    'send no headers that HTTP has not: %s',
    (pair) => {
      const { tracing, unsupported } = load({ ...ENDPOINT, OTEL_EXPORTER_OTLP_HEADERS: pair });
      expect(tracing).toMatchObject({ exporter: { headers: {} } });
      expect(unsupported).toHaveLength(1);
    },
  );

  it('read headers from a file, and do not show them', () => {
    const file = temporaryFile('headers', 'authorization=Bearer%20hunter2\n');
    const { tracing } = load({ ...ENDPOINT, OTEL_EXPORTER_OTLP_HEADERS_FILE: file });
    expect(tracing?.exporter.headers).toEqual({ authorization: 'Bearer hunter2' });
    const described = describeBridgeSettings({
      ...NEEDED,
      ...ENDPOINT,
      OTEL_EXPORTER_OTLP_HEADERS: 'authorization=hunter2',
      OTEL_EXPORTER_OTLP_TRACES_HEADERS: 'authorization=hunter2',
    });
    expect(JSON.stringify(described)).not.toContain('hunter2');
    expect(described.settings).toContainEqual({
      name: 'OTEL_EXPORTER_OTLP_HEADERS',
      value: '********',
      source: 'environment',
    });
  });
});
