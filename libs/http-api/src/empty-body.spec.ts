import { Body, Controller, HttpCode, Module, Post } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import { acceptEmptyJson } from './empty-body.js';

@Controller()
class Echo {
  @Post()
  @HttpCode(200)
  echo(@Body() body: unknown): unknown {
    return { body };
  }
}

@Module({ controllers: [Echo] })
class EchoModule {}

describe('a body named as JSON', () => {
  let app: NestFastifyApplication;

  beforeAll(async () => {
    app = await NestFactory.create<NestFastifyApplication>(
      EchoModule,
      new FastifyAdapter({ bodyLimit: 20 }),
      { logger: false },
    );
    acceptEmptyJson(app);
    await app.init();
  });

  afterAll(() => app.close());

  it.each([
    ['empty', '', 200, {}],
    ['an object', '{"by":"Ada"}', 200, { body: { by: 'Ada' } }],
    ['no JSON', '{"by":', 400, { statusCode: 400 }],
    ['a prototype', '{"__proto__":{}}', 400, { statusCode: 400 }],
    ['beyond the limit', '"12345678901234567890"', 413, { statusCode: 413 }],
  ])('that is %s', async (_, payload, status, answer) => {
    const headers = { 'content-type': 'application/json; charset=utf-8' };
    const response = await app.inject({ method: 'POST', url: '/', headers, payload });
    expect([response.statusCode, response.json()]).toEqual([
      status,
      status === 200 ? answer : expect.objectContaining(answer),
    ]);
  });
});
