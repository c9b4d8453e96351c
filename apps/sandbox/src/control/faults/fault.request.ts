import { Transform } from 'class-transformer';
import {
  IsBoolean,
  IsIn,
  IsInt,
  IsNotEmpty,
  IsNumber,
  IsOptional,
  IsString,
  Max,
  Min,
} from 'class-validator';
import { type Operation, OPERATIONS } from '../../service/index.js';

const LONGEST_LATENCY_MS = 600_000;

/** As the interface has them, where the names differ from ours. */
const INTERFACE_NAMES: ReadonlyMap<unknown, Operation> = new Map([
  ['MachineActivityLog', 'getMachineActivityLog'],
  ['MachineClassification', 'getClassificationReasons'],
]);

/** What is to go wrong, with which calls, how often and for how long; all times are real time. */
export class FaultRequest {
  /** `*`: every operation, the login included. */
  @Transform(({ value }: { value: unknown }) => INTERFACE_NAMES.get(value) ?? value)
  @IsIn(['*', ...OPERATIONS])
  operation: Operation | '*' = '*';
  /** Only calls that name this machine, also among others. */
  @IsOptional() @IsString() @IsNotEmpty() machineId?: string;
  /** Share of the matching calls it befalls; default 1. */
  @IsOptional() @IsNumber() @Min(0) @Max(1) rate?: number;
  /** How many calls it befalls before it is gone. */
  @IsOptional() @IsInt() @Min(1) count?: number;
  /** How long it stays. */
  @IsOptional() @IsNumber() @Min(0) durationSeconds?: number;

  /** Delays the answer, whichever it is. */
  @IsOptional() @IsInt() @Min(0) @Max(LONGEST_LATENCY_MS) latencyMs?: number;
  @IsOptional() @IsInt() @Min(200) @Max(599) status?: number;
  /** Sent as it is, as JSON content, with `status` or 200. */
  @IsOptional() @IsString() body?: string;
  /** The Retry-After header: seconds, or an HTTP date. */
  @IsOptional() @IsNotEmpty() retryAfter?: number | string;
  /** The connection is destroyed in place of an answer. */
  @IsOptional() @IsBoolean() drop?: boolean;
  /** No answer ever comes, the connection stays open. */
  @IsOptional() @IsBoolean() hang?: boolean;
  /** The operation is carried out and only then the fault comes: its answer is what is lost. */
  @IsOptional() @IsBoolean() afterApplying?: boolean;
}

/** Why a fault makes no sense, or null. */
export function contradictionIn(fault: FaultRequest): string | null {
  const answers = fault.status !== undefined || fault.body !== undefined;
  const ends = [fault.drop === true, fault.hang === true, answers].filter(Boolean).length;
  if (ends > 1) return 'drop, hang and status or body exclude each other';
  if (ends === 0 && fault.latencyMs === undefined) {
    return 'one of status, body, latencyMs, drop and hang is needed';
  }
  if (fault.retryAfter !== undefined) {
    if (!answers) return 'retryAfter needs status or body';
    const { retryAfter } = fault;
    const isSeconds = typeof retryAfter === 'number' && retryAfter >= 0;
    // a header value must not carry control characters
    const isText = typeof retryAfter === 'string' && /^[\x20-\x7e]+$/.test(retryAfter);
    if (!isSeconds && !isText) return 'retryAfter must be seconds or an HTTP date';
  }
  return null;
}
