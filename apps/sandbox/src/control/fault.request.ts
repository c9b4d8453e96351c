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

/** Operation names of the interface that differ from ours. */
const INTERFACE_NAMES: ReadonlyMap<unknown, Operation> = new Map([
  ['MachineActivityLog', 'getMachineActivityLog'],
  ['MachineClassification', 'getClassificationReasons'],
]);

/** A fault: its calls, its effect, and how often and how long it applies. Times are real time unless stated. */
export class FaultRequest {
  /** `*`: every operation, the login included. */
  @Transform(({ value }: { value: unknown }) => INTERFACE_NAMES.get(value) ?? value)
  @IsIn(['*', ...OPERATION_NAMES])
  operation: Operation | '*' = '*';
  /** Only calls for this machine, also together with others. */
  @IsOptional() @IsString() @IsNotEmpty() machineId?: string;
  /** Only calls for one of these machines. */
  @IsOptional() @IsString({ each: true }) @ArrayNotEmpty() machineIds?: string[];
  /** Only calls for a machine of this factory. */
  @IsOptional() @IsString() @IsNotEmpty() factoryId?: string;
  /** Share of the matching calls; default 1. */
  @IsOptional() @IsNumber() @Min(0) @Max(1) rate?: number;
  /** Number of calls after which the fault is removed. */
  @IsOptional() @IsInt() @Min(1) count?: number;
  /** Time after which the fault is removed. */
  @IsOptional() @IsNumber() @Min(0) durationSeconds?: number;

  @IsOptional() @IsInt() @Min(0) @Max(LONGEST_LATENCY_MS) latencyMs?: number;
  @IsOptional() @IsInt() @Min(200) @Max(599) status?: number;
  /** Sent unchanged, with `status` or 200. */
  @IsOptional() @IsString() body?: string;
  /** Content type of the body; default JSON. */
  @IsOptional() @Matches(PRINTABLE) contentType?: string;
  /** The Retry-After header: seconds, or an HTTP date. */
  @IsOptional() @IsNotEmpty() retryAfter?: number | string;
  /** Destroys the connection instead of an answer. */
  @IsOptional() @IsBoolean() drop?: boolean;
  /** Sends no answer and keeps the connection open. */
  @IsOptional() @IsBoolean() hang?: boolean;
  /** Applies the fault after the operation has been carried out, so that only its answer is lost. */
  @IsOptional() @IsBoolean() afterApplying?: boolean;

  /** Answers with the state or log of this long ago, in seconds of the service's clock. */
  @IsOptional() @IsNumber() @Min(0) @Max(LONGEST_SHIFT_SECONDS) lagSeconds?: number;
  /**
   * The log is provisional for this many seconds of the service's clock: it shows a change within them only afterwards,
   * and until then the previous state.
   */
  @IsOptional() @IsNumber() @Min(0) @Max(LONGEST_SHIFT_SECONDS) provisionalSeconds?: number;
}

/** Why the fields of a fault contradict each other; null where they do not. */
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
