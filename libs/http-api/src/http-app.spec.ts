import { once } from 'node:events';
import { type IncomingMessage, request as httpRequest } from 'node:http';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { Body, Controller, Get, HttpCode, Module, Param, Post } from '@nestjs/common';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { acceptEmptyJson, createHttpApp, DATA_HEADERS } from './http-app.js';

let reads = 0;

@Controller()
class Echo {
  @Get(':id')
  read(@Param('id') id: string): unknown {
    reads += 1;
    return { id };
  }

  @Post()
  @HttpCode(200)
  echo(@Body() body: unknown): unknown {
    return { body };
  }
}

@Module({ controllers: [Echo] })
class EchoModule {}

describe("a program's HTTP server", () => {
  let app: NestFastifyApplication;
  let url: string;

  beforeAll(async () => {
    app = await createHttpApp(
      { module: EchoModule },
      { bodyLimit: 20, maxConnections: 10, headers: DATA_HEADERS, logger: false },
    );
    acceptEmptyJson(app);
    await app.listen(0, '127.0.0.1');
    url = await app.getUrl();
  });

  afterAll(() => app.close());

  const post = (body: string): Promise<Response> =>
    fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json; charset=utf-8' },
      body,
    });

  it('refuses a body beyond the limit', async () => {
    expect((await post('"123456789012345678"')).status).toBe(200);
    expect((await post('"1234567890123456789"')).status).toBe(413);
  });

  it.each([
    ['empty', '', 200, {}],
    ['an object', '{"by":"Ada"}', 200, { body: { by: 'Ada' } }],
    ['no JSON', '{"by":', 400, expect.objectContaining({ statusCode: 400 })],
    ['a prototype', '{"__proto__":{}}', 400, expect.objectContaining({ statusCode: 400 })],
  ])('takes a body named as JSON that is %s, or says why not', async (_, body, status, answer) => {
    const response = await post(body);
    expect([response.status, await response.json()]).toEqual([status, answer]);
  });

  it('sends the headers with every answer', async () => {
    const answers = [await post('{}'), await post('"12345678901234567890"')];
    answers.push(await fetch(`${url}/not/there`));
    for (const { headers } of answers) {
      expect(Object.fromEntries(headers)).toMatchObject(DATA_HEADERS);
    }
  });

  it('accepts a request with an unknown expectation', async () => {
    const headers = { expect: 'x', 'content-type': 'application/json' };
    const sent = httpRequest(url, { method: 'POST', headers }).end('{}');
    const [answer] = (await once(sent, 'response')) as [IncomingMessage];
    expect([answer.statusCode, await text(answer)]).toEqual([200, '{"body":{}}']);
  });

  it('closes a connection with more than 16 unanswered requests, and handles none of those behind', async () => {
    const request = 'GET /pipelined HTTP/1.1\r\nhost: localhost\r\n\r\n';
    const answersTo = async (count: number): Promise<number> => {
      const socket = connect(Number(new URL(url).port), '127.0.0.1');
      socket.on('error', () => undefined);
      socket.end(request.repeat(count));
      const received = await text(socket).catch(() => '');
      return received.split('HTTP/1.1 200').length - 1;
    };
    expect(await answersTo(16)).toBe(16);
    const before = reads;
    expect(await answersTo(1000)).toBeLessThanOrEqual(16);
    expect(reads - before).toBeLessThanOrEqual(16);
    expect((await fetch(`${url}/after`)).status).toBe(200);
  });

  it('answers any number of requests on one connection, one after the other', async () => {
    const socket = connect(Number(new URL(url).port), '127.0.0.1');
    for (let count = 0; count < 50; count += 1) {
      socket.write('GET /next HTTP/1.1\r\nhost: localhost\r\n\r\n');
      const [answer] = (await once(socket, 'data')) as [Buffer];
      expect(answer.toString()).toMatch(/^HTTP\/1.1 200/);
    }
    socket.destroy();
  });

  it('serves a machine with a long id', async () => {
    const id = 'M'.repeat(300);
    const answer = await fetch(`${url}/${id}`);
    expect([answer.status, await answer.json()]).toEqual([200, { id }]);
  });
});
