import {
  BadRequestException,
  Controller,
  Get,
  Query,
  ServiceUnavailableException,
  UseGuards,
} from '@nestjs/common';
import { readEpochSeconds } from '#libs/contracts';
import { ApiTokenGuard } from './api-token.guard.js';
import { type FoundOutcomes, OutcomeHistory, SearchUnavailableError } from './outcome-history.js';

const DEFAULT_LIMIT = 100;
const MOST = 1000;

/** What became of messages, over the group. */
@Controller('api/outcomes')
@UseGuards(ApiTokenGuard)
export class OutcomesController {
  constructor(private readonly history: OutcomeHistory) {}

  @Get()
  async search(@Query() query: Record<string, unknown>): Promise<FoundOutcomes> {
    const [messageId, orderId, machineId] = ['messageId', 'orderId', 'machineId'].map((name) =>
      textOf(query, name),
    );
    if ((messageId ?? orderId ?? machineId) === undefined) {
      throw new BadRequestException('ask for messageId, orderId or machineId');
    }
    const asked = { messageId, orderId, machineId, since: sinceOf(query), limit: limitOf(query) };
    try {
      return await this.history.search(asked);
    } catch (error) {
      if (!(error instanceof SearchUnavailableError)) throw error;
      throw new ServiceUnavailableException(error.message);
    }
  }
}

function textOf(query: Record<string, unknown>, name: string): string | undefined {
  const value = query[name];
  if (value === undefined || value === '') return undefined;
  if (typeof value !== 'string') throw new BadRequestException(`${name} may be given once only`);
  return value;
}

function sinceOf(query: Record<string, unknown>): number | undefined {
  const text = textOf(query, 'since');
  if (text === undefined) return undefined;
  const time = readEpochSeconds(text);
  if (!time.ok) throw new BadRequestException(`since ${time.problem}`);
  return time.seconds;
}

function limitOf(query: Record<string, unknown>): number {
  const text = textOf(query, 'limit');
  if (text === undefined) return DEFAULT_LIMIT;
  const limit = Number(text);
  if (Number.isInteger(limit) && limit >= 1 && limit <= MOST) return limit;
  throw new BadRequestException(`limit must lie between 1 and ${MOST}`);
}
