import { Injectable } from '@nestjs/common';
import { IsIn, IsOptional, IsString, Min } from 'class-validator';
import { type Operation, OPERATION_NAMES } from '../service/operations.js';
import { QueryInteger } from './control-controller.decorator.js';

/** One call of the service, successful or not. */
export interface Call {
  /** From 1, without gaps. */
  sequence: number;
  /** Epoch seconds of the service's clock. */
  receivedAt: number;
  /** Real, monotonic milliseconds. Two calls overlap if each starts before the other ends. */
  startedAtMs: number;
  /** When the answer was sent or the connection broke, whichever is first; null while in progress. */
  endedAtMs: number | null;
  /** When the operation was carried out, also if its caller received another answer; null if it was not. */
  carriedOutAtMs: number | null;
  operation: Operation;
  method: string;
  path: string;
  machineIds: string[];
  body: unknown;
  /** The header `traceparent`; null without one. */
  traceparent: string | null;
  /** null while in progress, and if no answer was sent. */
  status: number | null;
  faultId: string | null;
}

export class CallFilter {
  @IsOptional() @IsIn(OPERATION_NAMES) operation?: string;
  @IsOptional() @IsString() machineId?: string;
  /** Only calls with a higher sequence number. */
  @QueryInteger() @Min(0) since?: number;
  /** Maximum number of calls, the earliest first. */
  @QueryInteger() @Min(1) limit?: number;
}

export interface CallExtent {
  /** Sequence number of the oldest call in the log. */
  oldest: number;
  /** Sequence number of the latest call, 0 before the first. */
  newest: number;
}

const MOST_CALLS = 100_000;
const MOST_BYTES = 64 * 1024 * 1024;

/** The latest calls: at most 100,000, fewer if their bodies exceed 64 MiB. */
@Injectable()
export class CallLog {
  private readonly entries = new Map<number, { call: Call; bytes: number }>();
  private oldest = 1;
  private newest = 0;
  private bytes = 0;

  logCall(call: Omit<Call, 'sequence'>, bytes: number): Call {
    this.newest += 1;
    const entry = { sequence: this.newest, ...call };
    this.entries.set(this.newest, { call: entry, bytes: 0 });
    this.addBytes(entry, bytes);
    return entry;
  }

  /** Adds bytes that arrive after the call was logged, such as its body. */
  addBytes({ sequence }: Call, bytes: number): void {
    const entry = this.entries.get(sequence);
    if (entry === undefined) return;
    entry.bytes += bytes;
    this.bytes += bytes;
    while (this.entries.size > MOST_CALLS || this.bytes > MOST_BYTES) this.evict();
  }

  get extent(): CallExtent {
    return { oldest: this.oldest, newest: this.newest };
  }

  /** In order of receipt. */
  listCalls(filter: CallFilter = {}): Call[] {
    const calls: Call[] = [];
    const { since = 0, limit = Infinity } = filter;
    for (let at = Math.max(this.oldest, since + 1); at <= this.newest; at += 1) {
      if (calls.length >= limit) break;
      const call = this.entries.get(at)?.call;
      if (call && matches(call, filter)) calls.push(call);
    }
    return calls;
  }

  /** Deletes all calls; the numbering continues. */
  clearCalls(): void {
    this.entries.clear();
    this.bytes = 0;
    this.oldest = this.newest + 1;
  }

  private evict(): void {
    this.bytes -= this.entries.get(this.oldest)?.bytes ?? 0;
    this.entries.delete(this.oldest);
    this.oldest += 1;
  }
}

function matches(call: Call, { operation, machineId }: CallFilter): boolean {
  return (
    (operation === undefined || call.operation === operation) &&
    (machineId === undefined || call.machineIds.includes(machineId))
  );
}

/** The machines of a call: in its query, its body, or the list in its body. */
export function machineIdsOf(query: unknown, body: unknown): string[] {
  const machines = field(body, 'machines');
  const listed = Array.isArray(machines) ? machines.map((entry) => field(entry, 'machineId')) : [];
  const named = [field(query, 'machineId'), field(body, 'machineId'), ...listed];
  return [...new Set(named.filter((id): id is string => typeof id === 'string'))];
}

function field(value: unknown, name: string): unknown {
  if (typeof value !== 'object' || value === null) return undefined;
  return (value as Record<string, unknown>)[name];
}
