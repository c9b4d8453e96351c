import 'reflect-metadata';
import { readFileSync } from 'node:fs';
import { ConsoleLogger, Logger, type LogLevel as NestLogLevel } from '@nestjs/common';
import type { FastifyInstance } from 'fastify';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import { DocumentBuilder, type OpenAPIObject, SwaggerModule } from '@nestjs/swagger';
import { Clock, ShiftCalendar } from '#libs/clock';
import { type LogLevel, type SandboxSettings, SettingsError } from '#libs/config';
import { ServiceGate } from './control/service-gate.js';
import { errorBody, ErrorBodyFilter } from './http/error-body.js';
import { acceptJsonBodies, BODY_LIMIT } from './http/json-body.js';
import { SandboxModule, type SandboxWorld } from './sandbox.module.js';
import { AnswerOptions, ServiceClock } from './service/answer-options.js';
import { followTokensFile } from './service/tokens-file.js';
import { TokenRegistry } from './service/token-registry.js';
import { METHODS_OF, OPERATIONS, PATHS_OF } from './service/operations.js';
import { Plant, type PlantMachine } from './plant/plant.js';
import { readTimelineScript } from './plant/read-timeline-script.js';
import { simulateMachines } from './plant/simulate-machines.js';
import { ServiceModule } from './service/service.module.js';

/** Fastify's own limit of 100 characters would hide machines with longer ids from the control API. */
const LONGEST_PATH_PARAMETER = 1024;

/**
 * Makes a sandbox that is ready to listen.
 *
 * @throws SettingsError when the timeline or tokens file cannot be used
 */
export async function createSandbox(
  settings: SandboxSettings,
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
  const stopFollowing = followTokens(settings, world.tokens);
  const app = await createApplication(settings, world);
  const instance = app.getHttpAdapter().getInstance();
  instance.addHook('onClose', (_, done) => {
    stopFollowing();
    done();
  });
  acceptJsonBodies(instance);
  app.useGlobalFilters(new ErrorBodyFilter());
  app.get(ServiceGate).install(instance);
  dateAnswers(instance, world);
  refuseOtherMethods(instance);
  serveOpenApi(app);
  return app;
}

function createApplication(
  settings: SandboxSettings,
  world: SandboxWorld,
): Promise<NestFastifyApplication> {
  // a call that hangs on purpose must not keep the sandbox from closing
  const adapter = new FastifyAdapter({
    bodyLimit: BODY_LIMIT,
    forceCloseConnections: true,
    routerOptions: { maxParamLength: LONGEST_PATH_PARAMETER },
  });
  const logger = new ConsoleLogger({ logLevels: nestLogLevels(settings.logLevel) });
  return NestFactory.create<NestFastifyApplication>(SandboxModule.of(world), adapter, {
    bodyParser: false,
    abortOnError: false,
    logger,
  });
}

/** Sets each answer's Date header by the service's clock. Install after the hooks that delay answers. */
function dateAnswers(instance: FastifyInstance, { clock, options }: SandboxWorld): void {
  instance.addHook('onSend', (_, reply, payload, done) => {
    if (options.dateHeader) reply.header('date', new Date(clock.nowMs()).toUTCString());
    else reply.raw.sendDate = false;
    done(null, payload);
  });
}

function followTokens(settings: SandboxSettings, tokens: TokenRegistry): () => void {
  if (settings.tokensFile === undefined) return () => undefined;
  return followTokensFile(settings.tokensFile, tokens, (problem) => {
    new Logger('TokensFile').warn(`kept the tokens as they were: the file ${problem}`);
  });
}

const METHODS_OF_PATH = new Map<string, readonly string[]>(
  OPERATIONS.flatMap((operation) =>
    PATHS_OF[operation].map((path) => [`/api/v1/${path}`, METHODS_OF[operation]] as const),
  ),
);

/** Answers an unsupported method with 405 and the operation's own methods in Allow. */
function refuseOtherMethods(instance: FastifyInstance): void {
  instance.addHook('onRequest', (request, reply, done) => {
    const [path = ''] = request.url.split('?', 1);
    const methods = request.is404 ? METHODS_OF_PATH.get(path) : undefined;
    if (!methods) {
      done();
      return;
    }
    const message = `${request.method} is not a method of this operation`;
    reply.code(405).header('allow', methods.join(', ')).send(errorBody(405, message));
  });
}

/**
 * Builds the plant of the settings: simulated, or read from a timeline script.
 *
 * @throws SettingsError when the script cannot be used
 */
function buildPlant(settings: SandboxSettings): Plant {
  const calendar = new ShiftCalendar(settings.shifts);
  const { timelineFile } = settings;
  const machines =
    timelineFile === undefined
      ? simulateMachines(settings, calendar)
      : readScriptFile(timelineFile);
  return new Plant(calendar, machines);
}

function readScriptFile(path: string): PlantMachine[] {
  let json: unknown;
  try {
    json = JSON.parse(readFileSync(path, 'utf8'));
  } catch (error) {
    const why = error instanceof SyntaxError ? 'is not JSON' : 'cannot be read';
    throw new SettingsError([`SANDBOX_TIMELINE_FILE names a file that ${why}`]);
  }
  const read = readTimelineScript(json);
  if (read.ok) return read.machines;
  throw new SettingsError(read.problems.map((problem) => `SANDBOX_TIMELINE_FILE: ${problem}`));
}

/** Nest's own start-up lines are of level `log`: they are shown from debug on. */
export function nestLogLevels(level: LogLevel): NestLogLevel[] {
  switch (level) {
    case 'silent':
      return [];
    case 'fatal':
      return ['fatal'];
    case 'error':
      return ['fatal', 'error'];
    case 'warn':
    case 'info':
      return ['fatal', 'error', 'warn'];
    case 'debug':
    case 'trace':
      return ['fatal', 'error', 'warn', 'log', 'debug', 'verbose'];
    default:
      return level satisfies never;
  }
}

/** Serves the description of the six operations and the login at `/openapi.json`. */
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
    include: [ServiceModule],
    operationIdFactory: (_, methodKey) => methodKey,
  });
}
