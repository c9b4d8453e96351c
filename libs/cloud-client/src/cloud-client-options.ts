import type { Clock } from '#libs/clock';
import type { TokenSettings } from '#libs/config';
import type { CloudCall, HttpsProxy } from '#libs/http-calls';
import type { Tracing } from '#libs/tracing';

export interface CloudClientOptions {
  /** Without `/api/v1`. */
  baseUrl: string;
  token: TokenSettings;
  /** How the service wants the reason named in setMachineClassification; default `reasonId`. */
  reasonField?: 'reasonId' | 'reason';
  /** Spelling of the machine list's path to begin with; default `mahcineInfo`. */
  machineInfoPath?: string;
  /** Real milliseconds for a request, a login too, from sending it to the end of the body; default 10000. */
  timeoutMs?: number;
  /** Default 64; a login has one of its own. */
  maxConnections?: number;
  /** Of all requests to the service together; default no limit. */
  maxRequestsPerSecond?: number | undefined;
  /** Of calls to the service and of requests for tokens, unless they go by plain http; default none. */
  proxy?: HttpsProxy | undefined;
  /** Compared with the service's; default real time. */
  clock?: Clock;
  /** Called after every HTTP request; must not throw. */
  onCall?: (call: CloudCall) => void;
  /** Default none. */
  tracing?: Tracing;
}
