import { Type } from 'class-transformer';
import { IsInt, IsOptional, Max, Min } from 'class-validator';
import { LATEST_EPOCH_SECONDS } from '../../plant/index.js';

const LONGEST_SECONDS = 31 * 24 * 3600;
const DEFAULT_SECONDS = 24 * 3600;

/** Epoch seconds; default the last 24 hours. */
export class TimelineQuery {
  @IsOptional() @Type(() => Number) @IsInt() @Min(0) @Max(LATEST_EPOCH_SECONDS) from?: number;
  @IsOptional() @Type(() => Number) @IsInt() @Min(0) @Max(LATEST_EPOCH_SECONDS) to?: number;
}

/** The whole minutes asked for, or what is wrong with the question. */
export function minutesOf(
  query: TimelineQuery,
  now: number,
): { fromMinute: number; toMinute: number } | { problem: string } {
  const to = query.to ?? now;
  const from = query.from ?? Math.max(0, to - DEFAULT_SECONDS);
  if (from > to) return { problem: 'from is later than to' };
  if (to - from > LONGEST_SECONDS) return { problem: 'the period is above the maximum of 31 days' };
  return { fromMinute: Math.floor(from / 60), toMinute: Math.ceil(to / 60) };
}
