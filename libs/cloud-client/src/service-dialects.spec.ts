import { respond, type StubAnswer } from '../../http-calls/test/stub-service.js';
import { client, connect, service } from '../test/stubbed-client.js';

const REASONS = { reasons: [{ name: 'Tool change', code: '22' }] };

function knowsOnly(path: string): StubAnswer {
  return (request, response) => {
    respond(request.url === `/api/v1/${path}` ? 200 : 404, [])(request, response);
  };
}

function sent(): string[] {
  return service.requests
    .splice(0)
    .map(({ method, url }) => `${method} ${url?.replace('/api/v1/', '')}`);
}

describe('the path of the machine list', () => {
  it('is tried in the other spellings on 404, then remembered', async () => {
    service.answers(knowsOnly('machineInfo'));
    expect(await client.getMachineInfo()).toEqual({ kind: 'data', data: [] });
    expect(sent()).toEqual(['GET mahcineInfo', 'GET MahcineInfo', 'GET machineInfo']);
    expect(await client.getMachineInfo()).toEqual({ kind: 'data', data: [] });
    expect(sent()).toEqual(['GET machineInfo']);
  });

  it('is tried again when the remembered one fails', async () => {
    service.answers(knowsOnly('MahcineInfo'));
    await client.getMachineInfo();
    sent();
    service.answers(knowsOnly('mahcineInfo'));
    await client.getMachineInfo();
    expect(sent()).toEqual(['GET MahcineInfo', 'GET mahcineInfo']);
  });

  it('is first tried in the configured spelling', async () => {
    const other = connect({ machineInfoPath: '/machines' });
    service.answers(knowsOnly('mahcineInfo'));
    await other.getMachineInfo();
    expect(sent()).toEqual(['GET machines', 'GET mahcineInfo']);
  });

  it('is tried once in each spelling if none is known', async () => {
    service.answers(respond(404));
    expect(await client.getMachineInfo()).toMatchObject({ kind: 'rejected', status: 404 });
    expect(sent()).toHaveLength(3);
  });

  it.each([400, 401, 422, 503])(
    'is not learnt from a %d, which does not confirm it',
    async (status) => {
      service.answers((request, response) => {
        respond(request.url === '/api/v1/mahcineInfo' ? 404 : status)(request, response);
      });
      expect(await client.getMachineInfo()).not.toHaveProperty('data');
      sent();
      service.answers(respond(200, []));
      await client.getMachineInfo();
      expect(sent()).toEqual(['GET mahcineInfo']);
    },
  );
});

describe('the method of the reason list', () => {
  it.each([405, 501])('becomes an empty POST when GET is answered %i', async (status) => {
    service.answers((request, response) => {
      respond(request.method === 'GET' ? status : 200, REASONS)(request, response);
    });
    expect(await client.getClassificationReasons('M-1')).toMatchObject({ kind: 'data' });
    expect(service.lastRequest).toMatchObject({
      body: '',
      headers: { 'content-type': 'application/json', 'content-length': '0' },
    });
    await client.getClassificationReasons('M-2');
    expect(sent()).toEqual([
      'GET machineClassifications?machineId=M-1',
      'POST machineClassifications?machineId=M-1',
      'POST machineClassifications?machineId=M-2',
    ]);
  });

  it('becomes POST if GET is not found and POST is', async () => {
    service.answers((request, response) => {
      respond(request.method === 'GET' ? 404 : 200, REASONS)(request, response);
    });
    expect(await client.getClassificationReasons('M-1')).toMatchObject({ kind: 'data' });
    sent();
    expect(await client.getClassificationReasons('M-2')).toMatchObject({ kind: 'data' });
    expect(sent()).toEqual(['POST machineClassifications?machineId=M-2']);
  });

  it('stays GET when the machine is not found', async () => {
    service.answers(respond(404));
    expect(await client.getClassificationReasons('M-9')).toMatchObject({ kind: 'rejected' });
    sent();
    service.answers(respond(200, REASONS));
    await client.getClassificationReasons('M-1');
    service.answers(respond(404));
    expect(await client.getClassificationReasons('M-9')).toMatchObject({ kind: 'rejected' });
    expect(sent()).toEqual([
      'GET machineClassifications?machineId=M-1',
      'GET machineClassifications?machineId=M-9',
    ]);
  });

  it('is learnt from a machine that is not found by POST', async () => {
    service.answers((request, response) => {
      respond(request.method === 'GET' ? 405 : 404)(request, response);
    });
    await client.getClassificationReasons('M-9');
    sent();
    await client.getClassificationReasons('M-9');
    expect(sent()).toEqual(['POST machineClassifications?machineId=M-9']);
  });

  it('gives the answer to GET if neither is allowed', async () => {
    service.answers((request, response) => respond(405, request.method ?? '')(request, response));
    expect(await client.getClassificationReasons('M-1')).toMatchObject({
      kind: 'retry',
      error: { status: 405 },
    });
    expect(sent()).toEqual([
      'GET machineClassifications?machineId=M-1',
      'POST machineClassifications?machineId=M-1',
    ]);
  });
});
