import { mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { hang, respond, StubService } from '../test/stub-service.js';
import { type CloudAnswer } from './cloud-answer.js';
import { MachineCloudClient } from './machine-cloud-client.js';
import { fixedToken, tokenFile } from './token-source.js';

describe('tokenFile', () => {
  let directory: string;
  let path: string;

  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'token-file-'));
    path = join(directory, 'token');
  });

  afterEach(() => rm(directory, { recursive: true }));

  it('gives the content without white space around it', async () => {
    await writeFile(path, '\n first \r\n');
    expect(await tokenFile(path)()).toBe('first');
  });

  it('gives the new token once the file is written again', async () => {
    await writeFile(path, 'first');
    const token = tokenFile(path);
    await token();
    await writeFile(path, 'a longer second');
    expect(await token()).toBe('a longer second');
  });

  it('gives the new token of a file that is replaced by another of the same length', async () => {
    await writeFile(path, 'aaaa');
    const token = tokenFile(path);
    await token();
    await writeFile(join(directory, 'next'), 'bbbb');
    await rename(join(directory, 'next'), path);
    expect(await token()).toBe('bbbb');
  });

  it('says which file is missing or empty, and recovers', async () => {
    const token = tokenFile(path);
    await expect(token()).rejects.toThrow(`token file ${path} cannot be read (ENOENT)`);
    await writeFile(path, ' \n');
    await expect(token()).rejects.toThrow(`token file ${path} is empty`);
    await writeFile(path, 'there');
    expect(await token()).toBe('there');
  });
});

describe('the token of a call', () => {
  const secret = 'eyJhbGciOi-secret';
  let service: StubService;
  let client: MachineCloudClient;

  beforeEach(async () => {
    service = await StubService.start();
    client = new MachineCloudClient({
      baseUrl: service.baseUrl,
      token: fixedToken(secret),
      timeoutMs: 100,
    });
  });

  afterEach(async () => {
    await client.close();
    await service.stop();
  });

  function spellOut(answer: CloudAnswer<unknown>): string {
    const error = answer.kind === 'retry' ? answer.error : undefined;
    const inspected = inspect(answer, { depth: 20, showHidden: true, getters: true });
    return [JSON.stringify(answer), inspected, error?.message, error?.stack].join('\n');
  }

  it.each([
    ['a rejection that echoes it', respond(422, `bad header: Bearer ${secret}`)],
    ['a server error that echoes it', respond(500, { authorization: `Bearer ${secret}` })],
    ['a malformed answer that echoes it', respond(200, `Bearer ${secret}`)],
    ['a time-out', hang],
    ['a dropped connection', ((_request, response) => response.destroy()) satisfies typeof hang],
  ])('does not appear in %s', async (_case, answer) => {
    service.answers(answer);
    const outcome = await client.getMachineState('M-1');
    expect(service.lastRequest.headers.authorization).toBe(`Bearer ${secret}`);
    expect(outcome.kind).toMatch(/retry|rejected/);
    expect(spellOut(outcome)).not.toContain(secret);
  });

  it('does not appear when nobody listens', async () => {
    const gone = await StubService.start();
    await gone.stop();
    const lost = new MachineCloudClient({ baseUrl: gone.baseUrl, token: fixedToken(secret) });
    const outcome = await lost.getMachineInfo();
    expect(outcome.kind).toBe('retry');
    expect(spellOut(outcome)).not.toContain(secret);
    await lost.close();
  });

  it.each(['two words', 'line\nbreak', 'tökén', ''])(
    'is not sent, nor shown, when no header can carry it: %j',
    async (token) => {
      const odd = new MachineCloudClient({ baseUrl: service.baseUrl, token: fixedToken(token) });
      const outcome = await odd.getMachineInfo();
      expect(outcome).toMatchObject({ kind: 'retry', error: { cause: { code: 'NO_TOKEN' } } });
      if (token !== '') expect(spellOut(outcome)).not.toContain(token);
      expect(service.requests).toHaveLength(0);
      await odd.close();
    },
  );

  it('is asked for again for each request, and its absence is told', async () => {
    const tokens = ['one', 'two'];
    const renewed = new MachineCloudClient({
      baseUrl: service.baseUrl,
      token: () => {
        const token = tokens.shift();
        return token ? Promise.resolve(token) : Promise.reject(new Error('token file x is empty'));
      },
    });
    await renewed.getMachineInfo();
    await renewed.getMachineInfo();
    expect(service.requests.map(({ headers }) => headers.authorization)).toEqual([
      'Bearer one',
      'Bearer two',
    ]);
    expect(await renewed.getMachineInfo()).toMatchObject({
      kind: 'retry',
      error: { message: 'getMachineInfo: no access token: token file x is empty' },
    });
    await renewed.close();
  });
});
