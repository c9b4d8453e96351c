import type { IncomingHttpHeaders } from 'node:http';
import {
  BadRequestException,
  Body,
  Controller,
  ForbiddenException,
  Get,
  Headers,
  HttpCode,
  NotFoundException,
  Param,
  Post,
  ServiceUnavailableException,
  UseGuards,
} from '@nestjs/common';
import {
  type ControlledFlow,
  type Flow,
  FLOWS,
  type GroupFlow,
  isJsonObject,
  type JsonObject,
} from '#libs/contracts';
import { isFromPage } from '#libs/http-api';
import { ControlNotTakenError, type FlowControl, FlowControls } from '../flow-control/index.js';
import { ApiTokenGuard } from './api-token.guard.js';
import { GroupFlows } from './group-flows.js';

/** Maximum characters: a sentence that fits into a log line. */
const LONGEST_TEXT = { reason: 500, by: 100 };

@Controller('api/flows')
@UseGuards(ApiTokenGuard)
export class FlowsController {
  constructor(
    private readonly controls: FlowControls,
    private readonly group: GroupFlows,
  ) {}

  @Get()
  listFlows(): Promise<GroupFlow[]> {
    return this.group.listFlows();
  }

  /** Answers once the pause is stored in Kafka and no further call of the flow begins in this process. */
  @Post(':name/pause')
  @HttpCode(200)
  async pauseFlow(
    @Param('name') name: string,
    @Body() body: unknown,
    @Headers() headers: IncomingHttpHeaders,
  ): Promise<ControlledFlow> {
    const flow = controlledFlow(name, headers);
    const fields = objectIn(body);
    const [reason, by] = [textOf(fields, 'reason'), textOf(fields, 'by')];
    const missing = Object.entries({ reason, by }).flatMap(([field, text]) =>
      text === undefined ? [field] : [],
    );
    if (reason === undefined || by === undefined) {
      throw new BadRequestException(`${missing.join(' and ')} missing: ${PAUSE_BODY}`);
    }
    const before = await orUnavailable(this.controls.pauseFlow(flow, reason, by));
    const since = this.controls.pauseOf(flow)?.since ?? null;
    return { name: flow, state: 'pausedByHand', why: reason, by, since, before: viewOf(before) };
  }

  /** Answers once the end of the pause is stored in Kafka and calls of the flow begin in this process. */
  @Post(':name/resume')
  @HttpCode(200)
  async resumeFlow(
    @Param('name') name: string,
    @Body() body: unknown,
    @Headers() headers: IncomingHttpHeaders,
  ): Promise<ControlledFlow> {
    const flow = controlledFlow(name, headers);
    const by = textOf(body === undefined || body === null ? {} : objectIn(body), 'by') ?? null;
    const before = await orUnavailable(this.controls.resumeFlow(flow, by));
    return { name: flow, state: 'resumed', why: null, by, since: null, before: viewOf(before) };
  }
}

const PAUSE_BODY = 'send {"reason": "why it is paused", "by": "who pauses it"}';

/** Refuses requests of web pages, which may be sent from any browser that reaches the bridge. */
function controlledFlow(name: string, headers: IncomingHttpHeaders): Flow {
  if (isFromPage({ headers }))
    throw new ForbiddenException('pages of a browser may not control flows');
  const flow = FLOWS.find((known) => known === name);
  if (flow === undefined) {
    throw new NotFoundException(`there is no such flow: the flows are ${FLOWS.join(', ')}`);
  }
  return flow;
}

function objectIn(body: unknown): JsonObject {
  if (!isJsonObject(body))
    throw new BadRequestException(`the body is no JSON object: ${PAUSE_BODY}`);
  return body;
}

/** Undefined where the field is absent or blank. */
function textOf(body: JsonObject, field: 'reason' | 'by'): string | undefined {
  const value = body[field];
  if (value === undefined || value === null) return undefined;
  const longest = LONGEST_TEXT[field];
  if (typeof value !== 'string' || value.length > longest) {
    throw new BadRequestException(`${field} must be a text of at most ${longest} characters`);
  }
  return value.trim() === '' ? undefined : value.trim();
}

async function orUnavailable<T>(written: Promise<T>): Promise<T> {
  try {
    return await written;
  } catch (error) {
    if (error instanceof ControlNotTakenError) throw new ServiceUnavailableException(error.message);
    throw error;
  }
}

function viewOf(pause: FlowControl | undefined): ControlledFlow['before'] {
  if (pause === undefined) return null;
  const { reason: why, by, since } = pause;
  return { why, by, since };
}
