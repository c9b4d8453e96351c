import 'reflect-metadata';
import { ConsoleLogger, Logger } from '@nestjs/common';
import type { FastifyInstance } from 'fastify';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import { Clock } from '#libs/clock';
import type { SandboxSettings } from '#libs/config';
import { buildPlant } from './build-plant.js';
import { ServiceGate } from './control/service-gate.js';
import { ErrorBodyFilter } from './http/error-body.filter.js';
import { acceptJsonBodies, BODY_LIMIT } from './http/json-body.js';
import { refuseOtherMethods } from './service/method-not-allowed.js';
import { nestLogLevels } from './log-levels.js';
import { serveOpenApi } from './openapi.js';
import { SandboxModule, type SandboxWorld } from './sandbox.module.js';
import { AnswerOptions, followTokensFile, ServiceClock, TokenRegistry } from './service/index.js';

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

/** Dates every answer by the service's clock, as it leaves: to be called after the hooks that delay it. */
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
