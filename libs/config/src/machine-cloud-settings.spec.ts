import { type Environment, EnvironmentReader } from './environment-reader.js';
import { readMachineCloudSettings } from './machine-cloud-settings.js';

const BASE_URL = 'MACHINE_CLOUD_BASE_URL';
const NEEDED = { [BASE_URL]: 'https://cloud.example.com', MACHINE_CLOUD_TOKEN: 'a-token' };

function read(environment: Environment) {
  const env = new EnvironmentReader({ ...NEEDED, ...environment });
  return { settings: readMachineCloudSettings(env), problems: env.problems };
}

describe('readMachineCloudSettings', () => {
  it('has a default for everything but the address and the token', () => {
    expect(read({})).toEqual({
      settings: {
        baseUrl: 'https://cloud.example.com',
        token: { kind: 'fixed', token: 'a-token' },
        reasonField: 'reasonId',
        machineInfoPath: 'mahcineInfo',
        timeoutMs: 10_000,
        maxConcurrency: 64,
      },
      problems: [],
    });
  });

  it('takes what is given', () => {
    const { settings, problems } = read({
      MACHINE_CLOUD_REASON_FIELD: 'reason',
      MACHINE_CLOUD_MACHINE_INFO_PATH: 'machineInfo',
      MACHINE_CLOUD_TIMEOUT_MS: '2500',
      MACHINE_CLOUD_MAX_CONCURRENCY: '8',
      MACHINE_CLOUD_MAX_REQUESTS_PER_SECOND: '2.5',
    });
    expect(settings).toMatchObject({
      reasonField: 'reason',
      machineInfoPath: 'machineInfo',
      timeoutMs: 2500,
      maxConcurrency: 8,
      maxRequestsPerSecond: 2.5,
    });
    expect(problems).toEqual([]);
  });

  it.each([
    ['MACHINE_CLOUD_REASON_FIELD', 'code', 'must be one of reasonId, reason'],
    ['MACHINE_CLOUD_TIMEOUT_MS', '0', 'must be a whole number from 1 to 600000'],
    ['MACHINE_CLOUD_MAX_CONCURRENCY', '0', 'must be a whole number from 1 to 4096'],
    ['MACHINE_CLOUD_MAX_REQUESTS_PER_SECOND', '0', 'must be a number above 0'],
    ['MACHINE_CLOUD_MAX_REQUESTS_PER_SECOND', 'fast', 'must be a number above 0'],
  ])('refuses %s=%s', (name, value, why) => {
    expect(read({ [name]: value }).problems).toEqual([`${name} ${why}`]);
  });

  describe('the path of the directory', () => {
    it.each(['machineInfo', '/MahcineInfo', 'plant-1/machine_info.json'])('may be %s', (path) => {
      const { settings, problems } = read({ MACHINE_CLOUD_MACHINE_INFO_PATH: path });
      expect([settings.machineInfoPath, problems]).toEqual([path, []]);
    });

    it.each([
      ['../admin', 'must be a path of'],
      ['a/../../admin', 'must be a path of'],
      ['./machineInfo', 'must be a path of'],
      ['a\\..\\admin', 'must be a path of'],
      ['%2e%2e/admin', 'must be a path of'],
      ['machine info', 'must be a path of'],
      ['machineInfo?all=true', 'must be a path of'],
      ['machineInfo#top', 'must be a path of'],
      ['machine\nInfo', 'must be a path of'],
      ['//evil.example.com/a', 'must be a path of'],
      ['https://cloud.example.com/machineInfo', 'must be a path of'],
      ['/', 'must be a path of'],
      ['/api/v1/machineInfo', 'must not begin with /api/v1'],
    ])('may not be %j: it %s', (path, why) => {
      const { problems } = read({ MACHINE_CLOUD_MACHINE_INFO_PATH: path });
      expect(problems).toHaveLength(1);
      expect(problems[0]).toContain(`MACHINE_CLOUD_MACHINE_INFO_PATH ${why}`);
    });
  });

  describe('the address', () => {
    it.each([
      'https://cloud.example.com',
      'https://cloud.example.com:8443/tenant',
      'https://gateway.example.com/api',
      'http://localhost:3100',
      'http://127.0.0.1:3100',
      'http://[::1]:3100',
    ])('may be %s', (url) => {
      expect(read({ [BASE_URL]: url })).toMatchObject({ settings: { baseUrl: url }, problems: [] });
    });

    it('loses the slashes at its end', () => {
      expect(read({ [BASE_URL]: 'https://cloud.example.com//' }).settings.baseUrl).toBe(
        'https://cloud.example.com',
      );
    });

    it.each([
      ['', 'is required'],
      ['cloud.example.com', 'must be a URL'],
      ['http://cloud.example.com', 'must be https'],
      ['http://localhost.example.com', 'must be https'],
      ['http://127.0.0.1.example.com', 'must be https'],
      ['http://0.0.0.0:3100', 'must be https'],
      ['ftp://localhost', 'must be https'],
      ['https://user:hunter2@cloud.example.com', 'must not carry a user name or password'],
      ['https://cloud.example.com/?tenant=7', 'must not carry a query'],
      ['https://cloud.example.com?', 'must not carry a query'],
      ['https://cloud.example.com/#top', 'must not carry a fragment'],
      ['https://cloud.example.com#', 'must not carry a fragment'],
      ['https://cloud.example.com/api/v1', 'must not end in /api/v1'],
      ['https://cloud.example.com/tenant/API/v1/', 'must not end in /api/v1'],
      ['https://cloud.exa\nmple.com', 'must be a URL'],
      ['https://cloud.example.com/a tenant', 'must be a URL'],
      ['http://localhost@cloud.example.com', 'must not carry a user name or password'],
    ])('may not be %j: it %s', (url, why) => {
      const { problems } = read({ [BASE_URL]: url });
      expect(problems).toHaveLength(1);
      expect(problems[0]).toContain(`${BASE_URL} ${why}`);
      expect(problems[0]).not.toContain('hunter2');
    });
  });
});
