import { type Operation } from './operations.js';
import { type TokenSource } from './token-source.js';

/** One HTTP request as it is counted: its status or why it has none. */
export interface CloudCall {
  operation: Operation;
  status: number | 'timeout' | 'network' | 'aborted';
  /** Real milliseconds, the time to get the token included. */
  durationMs: number;
}

export interface CloudClientOptions {
  /** Without `/api/v1`. */
  baseUrl: string;
  /** Called for every request. */
  token: TokenSource;
  /** How the service wants the reason named in setMachineClassification; default `reasonId`. */
  reasonField?: 'reasonId' | 'reason';
  /** Spelling of the machine list's path to begin with; default `mahcineInfo`. */
  machineInfoPath?: string;
  /** Real milliseconds for a request from getting the token to the end of the body; default 10000. */
  timeoutMs?: number;
  /** Default 64. */
  maxConnections?: number;
  /** Told of every HTTP request; must not throw. */
  onCall?: (call: CloudCall) => void;
}
