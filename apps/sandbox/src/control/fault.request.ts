import { Transform } from 'class-transformer';
import {
  ArrayNotEmpty,
  IsBoolean,
  IsIn,
  IsInt,
  IsNotEmpty,
  IsNumber,
  IsOptional,
  IsString,
  Matches,
  Max,
  Min,
} from 'class-validator';
import { LONGEST_SHIFT_SECONDS } from '../plant/limits.js';
import { type Operation, OPERATION_NAMES } from '../service/operations.js';

const LONGEST_LATENCY_MS = 600_000;

/** A header value must not carry control characters. */
const PRINTABLE = /^[\x20-\x7e]+$/;

/** As the interface has them, where the names differ from ours. */
const INTERFACE_NAMES: ReadonlyMap<unknown, Operation> = new Map([
  ['MachineActivityLog', 'getMachineActivityLog'],
  ['MachineClassification', 'getClassificationReasons'],
]);

/** What is to go wrong, with which calls, how often and for how long; all times are real time. */
export class FaultRequest {
  /** `*`: every operation, the login included. */
  @Transform(({ value }: { value: unknown }) => INTERFACE_NAMES.get(value) ?? value)
  @IsIn(['*', ...OPERATION_NAMES])
  operation: Operation | '*' = '*';
  /** Only calls that name this machine, also among others. */
  @IsOptional() @IsString() @IsNotEmpty() machineId?: string;
  /** Only calls that name one of these machines. */
  @IsOptional() @IsString({ each: true }) @ArrayNotEmpty() machineIds?: string[];
  /** Only calls that name a machine of this factory. */
  @IsOptional() @IsString() @IsNotEmpty() factoryId?: string;
  /** Share of the matching calls it applies to; default 1. */
  @IsOptional() @IsNumber() @Min(0) @Max(1) rate?: number;
  /** Number of calls after which the fault is removed. */
  @IsOptional() @IsInt() @Min(1) count?: number;
  /** How long it stays. */
  @IsOptional() @IsNumber() @Min(0) durationSeconds?: number;

  /** Delays the answer, whichever it is. */
  @IsOptional() @IsInt() @Min(0) @Max(LONGEST_LATENCY_MS) latencyMs?: number;
  @IsOptional() @IsInt() @Min(200) @Max(599) status?: number;
  /** Sent as it is, with `status` or 200. */
  @IsOptional() @IsString() body?: string;
  /** Content type of the body; default JSON. */
  @IsOptional() @Matches(PRINTABLE) contentType?: string;
  /** The Retry-After header: seconds, or an HTTP date. */
  @IsOptional() @IsNotEmpty() retryAfter?: number | string;
  /** The connection is destroyed in place of an answer. */
  @IsOptional() @IsBoolean() drop?: boolean;
  /** No answer ever comes, the connection stays open. */
  @IsOptional() @IsBoolean() hang?: boolean;
  /** The operation is carried out and only then the fault comes: its answer is what is lost. */
  @IsOptional() @IsBoolean() afterApplying?: boolean;

  /** State or log as they were answered that long ago, in seconds of the sandbox's clock. */
  @IsOptional() @IsNumber() @Min(0) @Max(LONGEST_SHIFT_SECONDS) lagSeconds?: number;
  /**
   * The log is provisional for that many seconds of the sandbox's clock: it shows the state before
   * in place of a change within them, and is revised afterwards.
   */
  @IsOptional() @IsNumber() @Min(0) @Max(LONGEST_SHIFT_SECONDS) provisionalSeconds?: number;
}

/** Why a fault makes no sense, or null. */
export function contradictionIn(fault: FaultRequest): string | null {
  const answers = fault.status !== undefined || fault.body !== undefined;
  const isStale = fault.lagSeconds !== undefined || fault.provisionalSeconds !== undefined;
  const ends = [fault.drop === true, fault.hang === true, answers, isStale].filter(Boolean).length;
  if (ends > 1)
    return 'drop, hang, status or body, and lagSeconds or provisionalSeconds exclude each other';
  if (ends === 0 && fault.latencyMs === undefined) {
    return 'one of status, body, latencyMs, drop, hang, lagSeconds and provisionalSeconds is needed';
  }
  if (isStale && !canBeStale(fault)) {
    return 'provisionalSeconds needs operation getMachineActivityLog, lagSeconds that or getMachineState, neither takes afterApplying';
  }
  if (fault.contentType !== undefined && fault.body === undefined) return 'contentType needs body';
  if (fault.retryAfter !== undefined) {
    if (!answers) return 'retryAfter needs status or body';
    const { retryAfter } = fault;
    const isSeconds = typeof retryAfter === 'number' && retryAfter >= 0;
    const isText = typeof retryAfter === 'string' && PRINTABLE.test(retryAfter);
    if (!isSeconds && !isText) return 'retryAfter must be seconds or an HTTP date';
  }
  return null;
}

function canBeStale({ operation, provisionalSeconds, afterApplying }: FaultRequest): boolean {
  const operations = ['getMachineActivityLog'];
  if (provisionalSeconds === undefined) operations.push('getMachineState');
  return operations.includes(operation) && afterApplying !== true;
}
