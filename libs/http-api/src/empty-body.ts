import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import type { RawServerDefault } from 'fastify';

/** Takes an empty JSON body for none: libraries name the content type with every request, whatever it carries. */
export function acceptEmptyJson(app: NestFastifyApplication): void {
  const parse = app.getHttpAdapter().getInstance().getDefaultJsonParser('error', 'error');
  app.useBodyParser<RawServerDefault>('application/json', {}, (request, body, done) => {
    if (body.length === 0) done(null);
    else void parse(request, body.toString(), done);
  });
}
