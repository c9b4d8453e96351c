import {
  Body,
  Controller,
  Delete,
  Get,
  HttpCode,
  Post,
  Put,
  Req,
  Res,
  UseGuards,
} from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { ApiError } from '#libs/http-api';
import type { Session } from '../api/index.js';
import { AccessGuard, type IdentifiedRequest, OwnPageGuard } from './access.guard.js';
import { isOperatorName } from './identity.js';
import { StationAccess } from './station-access.js';

@Controller('api/session')
export class SessionController {
  constructor(private readonly access: StationAccess) {}

  @Get()
  @UseGuards(AccessGuard)
  currentSession(@Req() { identity }: IdentifiedRequest): Session {
    return this.access.sessionFor(identity);
  }

  @Post()
  @HttpCode(200)
  @UseGuards(OwnPageGuard)
  signIn(
    @Body() body: { token?: unknown } | undefined,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Session {
    const token = body?.token;
    if (typeof token !== 'string') throw new ApiError(400, 'invalid-request', 'token is missing');
    return this.access.sessionFor(this.access.openSession(token, request, reply));
  }

  @Put('operator')
  @UseGuards(AccessGuard)
  registerOperator(
    @Body() body: { operator?: unknown } | undefined,
    @Req() request: IdentifiedRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Session {
    const operator = operatorName(body?.operator);
    return this.access.sessionFor(
      this.access.setOperator(operator, request.identity, request, reply),
    );
  }

  @Delete()
  @HttpCode(204)
  @UseGuards(OwnPageGuard)
  signOut(@Res({ passthrough: true }) reply: FastifyReply): void {
    this.access.closeSession(reply);
  }
}

function operatorName(value: unknown): string | null {
  if (value === null) return null;
  const name = typeof value === 'string' ? value.trim() : undefined;
  if (isOperatorName(name)) return name;
  throw new ApiError(
    400,
    'invalid-request',
    'operator must be null or a name of 1 to 100 characters',
  );
}
