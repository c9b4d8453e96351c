import { type StubAnswer, StubService } from '../../../../libs/http-calls/test/stub-service.js';
import { askBridge, hasFields, isListOf } from './bridge.js';
import { UnreachableError } from './exit-codes.js';

describe('a request to a bridge', () => {
  const isFlows = isListOf('name', 'processes');
  let service: StubService;

  beforeEach(async () => {
    service = await StubService.start();
  });

  afterEach(() => service.stop());

  const serving = (answer: StubAnswer): string => {
    service.answers(answer);
    return service.baseUrl;
  };

  it('sends and reads JSON, below the path of its URL', async () => {
    const url = serving(({ method, url, body }, response) =>
      response.end(JSON.stringify([method, url, body])),
    );
    expect(await askBridge(`${url}/factory/`, '/api/x', Array.isArray, { by: 'me' })).toEqual([
      ...['POST', '/factory/api/x', '{"by":"me"}'],
    ]);
  });

  it('refuses a page that does not come from a bridge', async () => {
    const url = serving((_, response) => response.end('<!doctype html><title>Login</title>'));
    await expect(askBridge(url, '/api/flows', isFlows)).rejects.toThrow(
      `${url}/api/flows answers with 200 and no JSON: it is no bridge`,
    );
  });

  it.each([
    ['{"message": "hello"}', isFlows],
    ['[{"name": "x"}]', isFlows],
    ['[null]', isFlows],
    ['[]', (json: unknown) => hasFields(json, 'before')],
    ['"text"', (json: unknown) => hasFields(json, 'before')],
  ])('says that JSON of another program is of no bridge: %s', async (body, isAnswer) => {
    const url = serving((_, response) => response.end(body));
    await expect(askBridge(url, '/api/x', isAnswer)).rejects.toThrow(
      `${url}/api/x answers with 200 and other JSON than a bridge: it is no bridge of this version; --bridge names another address`,
    );
  });

  it('reports what to do where nothing listens', async () => {
    const url = service.baseUrl;
    await service.stop();
    await expect(askBridge(url, '/api/flows', isFlows)).rejects.toThrow(
      /^no bridge answers at .*ECONNREFUSED .*: start it, or name another one with --bridge$/,
    );
  });

  it('follows no redirect', async () => {
    const url = serving((_, response) => response.writeHead(307, { location: '/x' }).end());
    await expect(askBridge(url, '/api/flows', isFlows)).rejects.toThrow('answers with 307');
  });

  it('treats an incomplete answer as none', async () => {
    const url = serving((_, response) => response.write('[', () => response.destroy()));
    await expect(askBridge(url, '/api/flows', isFlows)).rejects.toThrow(UnreachableError);
  });
});
