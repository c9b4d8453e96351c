import { renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
import { SettingsError } from '#libs/config';
import { temporaryFolder } from '../../../libs/config/test/temporary-files.js';
import { NOW, type RunningSandbox, runSandbox } from './testing/running-sandbox.js';

describe('a sandbox', () => {
  const directory = temporaryFolder();
  let sandbox: RunningSandbox | undefined;
  afterEach(async () => {
    await sandbox?.close();
    sandbox = undefined;
  });

  function file(name: string, content: unknown): string {
    const path = join(directory, name);
    const text = typeof content === 'string' ? content : JSON.stringify(content);
    // replaced by a rename, as secrets are rotated
    writeFileSync(`${path}.new`, text);
    renameSync(`${path}.new`, path);
    return path;
  }

  const statusWith = async (running: RunningSandbox, token: string) =>
    (await running.service('GET', 'mahcineInfo', { token })).status;

  it('reads its tokens again when their file changes, and keeps them when it becomes unreadable', async () => {
    const path = file('tokens.json', { old: ['machine-info'] });
    sandbox = await runSandbox({ SANDBOX_TOKENS_FILE: path });
    expect(await statusWith(sandbox, 'old')).toBe(200);
    file('tokens.json', { new: ['machine-info'], 'sandbox-token': [] });
    while ((await statusWith(sandbox, 'new')) !== 200) await turn();
    expect(await statusWith(sandbox, 'old')).toBe(401);
    expect(await statusWith(sandbox, 'sandbox-token')).toBe(403);
    file('tokens.json', 'not json');
    expect(await statusWith(sandbox, 'new')).toBe(200);
    // with a byte order mark, as some editors write it
    file('tokens.json', '\ufeff{"newer": ["machine-info"]}');
    while ((await statusWith(sandbox, 'newer')) !== 200) await turn();
  });

  it('plays a timeline file', async () => {
    const periods = [{ startTime: NOW - 3600, state: 'IDLE' }];
    const path = file('timeline.json', { machines: [{ machineId: 'X', periods }] });
    sandbox = await runSandbox({ SANDBOX_TIMELINE_FILE: path });
    const { json } = await sandbox.service('GET', 'machineState?machineId=X');
    expect(json).toMatchObject({ machineState: 'IDLE' });
  });

  it.each([
    ['SANDBOX_TIMELINE_FILE', { machines: 1 }, 'machines must be an array'],
    ['SANDBOX_TOKENS_FILE', 'not json', 'is not JSON'],
    ['SANDBOX_TOKENS_FILE', '{"a": [], "a": []}', 'repeats a name'],
    ['SANDBOX_TOKENS_FILE', [], 'must be a JSON object'],
    ['SANDBOX_TOKENS_FILE', { secret: ['everything'] }, 'must list scopes out of machine-info'],
  ])('does not start with a wrong %s: %j', async (setting, content, why) => {
    const starting = runSandbox({ [setting]: file('wrong.json', content) });
    await expect(starting).rejects.toThrow(SettingsError);
    await expect(starting).rejects.toThrow(why);
  });

  it('reports the problems of its files together with those of its other settings', async () => {
    const starting = runSandbox({
      SANDBOX_MACHINES: 'many',
      SANDBOX_TIMELINE_FILE: file('timeline.json', 'not json'),
      SANDBOX_TOKENS_FILE: join(directory, 'missing'),
    });
    await expect(starting).rejects.toMatchObject({
      problems: [
        'SANDBOX_MACHINES must be a whole number from 1 to 1000000',
        'SANDBOX_TIMELINE_FILE names a file that is not JSON',
        'SANDBOX_TOKENS_FILE names a file that cannot be read (ENOENT)',
      ],
    });
  });

  it('answers that it is alive', async () => {
    sandbox = await runSandbox();
    expect(await (await fetch(`${sandbox.url}/health/live`)).json()).toEqual({ status: 'ok' });
  });

  it('describes each operation with its statuses', async () => {
    sandbox = await runSandbox();
    const response = await fetch(`${sandbox.url}/openapi.json`);
    const { paths } = (await response.json()) as {
      paths: Record<string, Record<string, { responses: object }>>;
    };
    const described = Object.entries(paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(
        ([method, { responses }]) =>
          `${method} ${path.replace('/api/v1/', '')}: ${Object.keys(responses).join(' ')}`,
      ),
    );
    expect(described.sort()).toEqual([
      'get MahcineInfo: 200 401 403',
      'get machineClassifications: 200 204 401 403 404 422',
      'get machineState: 200 204 401 403 422',
      'get mahcineInfo: 200 401 403',
      'post machineActivity: 200 204 400 401 403 413 415 422',
      'post machineClassification: 200 400 401 403 413 415 422',
      'post machineClassifications: 200 204 400 401 403 404 413 415 422',
      'post security/getAPIToken: 200 400 401 413 415 422',
      'put workOrderList: 200 400 401 403 413 415 422',
    ]);
  });

  it('closes while calls hang', async () => {
    const running = await runSandbox();
    await running.control('POST', 'faults', { operation: '*', hang: true });
    const hanging = running.service('GET', 'mahcineInfo').catch((error: unknown) => error);
    const calls = async () => (await running.control('GET', 'calls')).json as object[];
    while ((await calls()).length === 0) await turn();
    await running.close();
    expect(await hanging).toMatchObject({ message: 'fetch failed' });
  });
});
