import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { DocumentBuilder, type OpenAPIObject, SwaggerModule } from '@nestjs/swagger';
import { ServiceModule } from './service/index.js';

/** Serves the description of the six operations and the login at `/openapi.json`. */
export function serveOpenApi(app: NestFastifyApplication): void {
  let document: OpenAPIObject | undefined;
  app
    .getHttpAdapter()
    .getInstance()
    .get('/openapi.json', () => (document ??= describeService(app)));
}

function describeService(app: NestFastifyApplication): OpenAPIObject {
  const config = new DocumentBuilder()
    .setTitle('Machine Data Service')
    .setDescription('Machines, their states and reasons, and the work orders set for them.')
    .setVersion('v1')
    .addBearerAuth({ type: 'http', scheme: 'bearer' })
    .build();
  return SwaggerModule.createDocument(app, config, {
    include: [ServiceModule],
    operationIdFactory: (_, methodKey) => methodKey,
  });
}
