import 'reflect-metadata';
import { ConsoleLogger, type LogLevel as NestLogLevel } from '@nestjs/common';
import type { FastifyInstance } from 'fastify';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { DocumentBuilder, type OpenAPIObject, SwaggerModule } from '@nestjs/swagger';
import { Clock, ShiftCalendar } from '#libs/clock';
import {
  type Environment,
  type EnvironmentReader,
  loadSandboxSettings,
  type LogLevel,
} from '#libs/config';
import { acceptEmptyJson, createHttpApp } from '#libs/http-api';
import { ServiceGate } from './control/service-gate.js';
import { errorBody, ErrorBodyFilter, REFUSED_ADDRESSES } from './http/error-body.js';
import { Plant, type PlantMachine } from './plant/plant.js';
import { readTimelineScript } from './plant/read-timeline-script.js';
import { simulateMachines } from './plant/simulate-machines.js';
import { SandboxModule, type SandboxWorld } from './sandbox.module.js';
import { AnswerOptions, ServiceClock } from './service/answer-options.js';
import { followTokens, readTokens, TokenRegistry } from './service/token-registry.js';

/** The lowest Nest level that is logged. Nest logs its own start at level `log`. */
const SHOWN_FROM: Readonly<Record<LogLevel, NestLogLevel[]>> = {
  silent: [],
  fatal: ['fatal'],
  error: ['error'],
  warn: ['warn'],
  info: ['warn'],
  debug: ['verbose'],
  trace: ['verbose'],
};

type LoadedSettings = ReturnType<typeof loadSettings>;

/** @throws SettingsError with all problems of the settings and their files */
export function loadSettings(environment: Environment) {
  return loadSandboxSettings(environment, (env, { timeline }) => ({
    tokens: env.fromFiles(readTokens),
    machines: timeline === undefined ? undefined : readTimeline(env, timeline),
  }));
}

export async function createSandbox(
  settings: LoadedSettings,
  clock: Clock = new Clock(settings.clock),
): Promise<NestFastifyApplication> {
  const { login } = settings;
  const options = new AnswerOptions();
  const world = {
    clock: new ServiceClock(clock, options),
    options,
    login,
    plant: buildPlant(settings),
    tokens: new TokenRegistry(settings.token),
  };
  const listed = settings.files?.tokens;
  const stopFollowing = listed && followTokens(listed, world.tokens);
  const app = await createHttpApp(SandboxModule.of(world), {
    bodyLimit: BODY_LIMIT,
    maxConnections: MAX_CONNECTIONS,
    bodyParser: false,
    logger: new ConsoleLogger({ logLevels: SHOWN_FROM[settings.logLevel] }),
    fastify: REFUSED_ADDRESSES,
  });
  const instance = app.getHttpAdapter().getInstance();
  instance.addHook('onClose', (_, done) => {
    stopFollowing?.();
    done();
  });
  // only JSON, other types are a 415; the interface's sample for the reason list posts an empty body as JSON
  instance.removeContentTypeParser(['text/plain']);
  acceptEmptyJson(app);
  app.useGlobalFilters(new ErrorBodyFilter());
  app.get(ServiceGate).install(instance);
  dateAnswers(instance, world);
  refuseOtherMethods(instance);
  refuseDeepBodies(instance);
  serveOpenApi(app);
  return app;
}

/** Sets the Date header of answers by the service's clock. Must be installed after the hooks that delay answers. */
function dateAnswers(instance: FastifyInstance, { clock, options }: SandboxWorld): void {
  instance.addHook('onSend', (_, reply, payload, done) => {
    if (options.dateHeader) reply.header('date', new Date(clock.nowMs()).toUTCString());
    else reply.raw.sendDate = false;
    done(null, payload);
  });
}

const METHODS = ['GET', 'POST', 'PUT'];

/** Answers an unsupported method with 405 and the operation's methods in Allow. */
function refuseOtherMethods(instance: FastifyInstance): void {
  instance.addHook('onRequest', (request, reply, done) => {
    const [url = ''] = request.url.split('?', 1);
    // `hasRoute` takes a pattern
    const isOfService = request.is404 && /^\/api\/v1\/[^:*]+$/.test(url);
    const methods = isOfService
      ? METHODS.filter((method) => instance.hasRoute({ url, method }))
      : [];
    if (methods.length === 0) {
      done();
      return;
    }
    const message = `${request.method} is not a method of this operation`;
    reply.code(405).header('allow', methods.join(', ')).send(errorBody(405, message));
  });
}

/** Answers 400 to a body that would overflow the stack when it is validated, or written out with the log of calls. */
function refuseDeepBodies(instance: FastifyInstance): void {
  instance.addHook('preValidation', (request, reply, done) => {
    if (!isDeeperThan(request.body, MAX_DEPTH)) {
      done();
      return;
    }
    const message = `the body is nested deeper than ${MAX_DEPTH} levels`;
    reply.code(400).send(errorBody(400, message));
  });
}

function isDeeperThan(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return levels === 0 || Object.values(value).some((item) => isDeeperThan(item, levels - 1));
}

function buildPlant(settings: LoadedSettings): Plant {
  const calendar = new ShiftCalendar(settings.shifts);
  return new Plant(calendar, settings.files?.machines ?? simulateMachines(settings, calendar));
}

function readTimeline(env: EnvironmentReader, json: unknown): PlantMachine[] | undefined {
  const read = readTimelineScript(json);
  if (read.ok) return read.machines;
  for (const problem of read.problems) env.refuse('SANDBOX_TIMELINE_FILE:', problem);
  return undefined;
}

/** Serves the OpenAPI description of the six operations and the login at `/openapi.json`. */
function serveOpenApi(app: NestFastifyApplication): void {
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
    operationIdFactory: (_, methodKey) => methodKey,
  });
}

/** 1 MiB; a larger body is answered with 413. */
const BODY_LIMIT = 1024 * 1024;
/** Levels of arrays and objects in a body. */
const MAX_DEPTH = 64;
/** A bridge opens 161, or this many with `MACHINE_CLOUD_MAX_CONCURRENCY` of some 790. Further ones are closed. */
const MAX_CONNECTIONS = 2000;
