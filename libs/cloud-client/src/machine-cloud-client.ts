import { applied, bodyRead, type HttpAnswer, listRead, RememberedForm } from '#libs/http-calls';
import type {
  ActivityLogEntry,
  ActivityLogQuery,
  ClassificationReason,
  MachineClassification,
  MachineInfo,
  MachineStateReading,
  WorkOrderListAssignment,
} from './machine-data.js';
import type { RequestPace } from './request-pace.js';
import { type Caller, type CloudClientOptions, AuthorisedRequests } from './authorised-requests.js';
import {
  parseActivityLog,
  parseClassificationReasons,
  parseMachineInfo,
  parseMachineState,
} from './parse-answers.js';
import type { ClockOffset } from './service-clock.js';

/** As the operation table spells it, as its sample does, and as it was meant. */
const MACHINE_INFO_PATHS = ['mahcineInfo', 'MahcineInfo', 'machineInfo'];

const MIB = 1024 * 1024;
/** 100,000 machines are 15 MB; one such list is read at a time. */
const MAX_MACHINE_INFO_BYTES = 32 * MIB;
/** 30 days of a machine that changes state every minute are 5 MB. */
const MAX_ACTIVITY_LOG_BYTES = 8 * MIB;
const MAX_REASONS_BYTES = 4 * MIB;
const METHOD_UNKNOWN: readonly (number | undefined)[] = [405, 501];
const NOBODY: Caller = { signal: undefined };
const machineInfo = listRead(parseMachineInfo);
const machineState = bodyRead(parseMachineState);
const activityLog = listRead(parseActivityLog);
const classificationReasons = listRead(parseClassificationReasons);

/**
 * The six operations of the Machine Data Service (interface: "Endpoints"). Each makes one attempt,
 * and a second one with another token where its own was refused, and says what it came to; repeating
 * is the caller's business. With a `signal` that aborts, a call rejects with the signal's reason; one
 * that its caller objects to before it is sent, with the objection; and with nothing else.
 */
export class MachineCloudClient {
  private readonly requests: AuthorisedRequests;
  private readonly reasonField: 'reasonId' | 'reason';
  private readonly machineInfoPath: RememberedForm<string>;
  private readonly reasonListMethod: RememberedForm<'GET' | 'POST'>;
  /** The method is right: a 404 is about the machine (interface: "Errors"). */
  private hasReadReasons = false;

  constructor(options: CloudClientOptions) {
    this.requests = new AuthorisedRequests(options);
    this.reasonField = options.reasonField ?? 'reasonId';
    const configuredPath = options.machineInfoPath?.replace(/^\/+/, '') ?? 'mahcineInfo';
    this.machineInfoPath = new RememberedForm([configuredPath, ...MACHINE_INFO_PATHS], isNotFound);
    this.reasonListMethod = new RememberedForm(['GET', 'POST'], isMethodUnknown);
  }

  /** Interface: getMachineInfo. */
  getMachineInfo(signal?: AbortSignal): Promise<HttpAnswer<MachineInfo[]>> {
    const request = { operation: 'getMachineInfo', method: 'GET' } as const;
    const maxAnswerBytes = MAX_MACHINE_INFO_BYTES;
    return this.machineInfoPath.call((path) =>
      this.requests.call({ ...request, path, maxAnswerBytes }, machineInfo, { signal }),
    );
  }

  /** Interface: getMachineState. */
  getMachineState(
    machineId: string,
    caller: Caller = NOBODY,
  ): Promise<HttpAnswer<MachineStateReading>> {
    const request = { operation: 'getMachineState', method: 'GET', path: 'machineState' } as const;
    return this.requests.call({ ...request, machineId }, machineState, caller);
  }

  /** Interface: MachineActivityLog. */
  getMachineActivityLog(
    body: ActivityLogQuery,
    caller: Caller = NOBODY,
  ): Promise<HttpAnswer<ActivityLogEntry[]>> {
    const operation = 'getMachineActivityLog';
    const request = { operation, method: 'POST', path: 'machineActivity', body } as const;
    const maxAnswerBytes = MAX_ACTIVITY_LOG_BYTES;
    return this.requests.call({ ...request, maxAnswerBytes }, activityLog, caller);
  }

  /** Interface: MachineClassification, by GET or, where that is refused, by the sample's empty POST. */
  async getClassificationReasons(
    machineId: string,
    signal?: AbortSignal,
  ): Promise<HttpAnswer<ClassificationReason[]>> {
    const operation = 'getClassificationReasons';
    // the plural: a POST to the singular path would set a classification
    const path = 'machineClassifications';
    const request = { operation, path, machineId, maxAnswerBytes: MAX_REASONS_BYTES } as const;
    const methods = this.reasonListMethod;
    const readBy = (method: 'GET' | 'POST') => {
      const body = method === 'POST' ? { body: null } : {};
      return this.requests.call({ ...request, method, ...body }, classificationReasons, { signal });
    };
    let answer = await methods.call(readBy);
    // many servers answer so to a method that they do not have, too
    if (isNotFound(answer) && methods.expected === 'GET' && !this.hasReadReasons) {
      const posted = await readBy('POST');
      if (hasRead(posted)) {
        methods.expect('POST');
        answer = posted;
      }
    }
    this.hasReadReasons ||= hasRead(answer);
    return answer.kind === 'data' && answer.data.length === 0 ? { kind: 'noData' } : answer;
  }

  /** Interface: setMachineClassification. */
  setMachineClassification(
    { machineId, startTime, endTime, reasonId }: MachineClassification,
    caller: Caller = NOBODY,
  ): Promise<HttpAnswer<null>> {
    const end = endTime === undefined ? {} : { endTime };
    return this.classify({ machineId, startTime, ...end, [this.reasonField]: reasonId }, caller);
  }

  /**
   * Interface: setMachineClassification, without machine, reason and times: sets nothing, and is to be answered with
   * 422. Shows whether the path of the operation is right.
   */
  setNoMachineClassification(caller: Caller = NOBODY): Promise<HttpAnswer<null>> {
    return this.classify({ machineId: '', [this.reasonField]: '' }, caller);
  }

  private classify(body: object, caller: Caller): Promise<HttpAnswer<null>> {
    const operation = 'setMachineClassification';
    const request = { operation, method: 'POST', path: 'machineClassification', body } as const;
    return this.requests.call(request, applied, caller);
  }

  /** Interface: setWorkOrderList; several machines in one request, or none. */
  setWorkOrderList(
    assignments: readonly WorkOrderListAssignment[],
    caller: Caller = NOBODY,
  ): Promise<HttpAnswer<null>> {
    const machines = assignments.map(({ machineId, workingOrders }) => ({
      machineId,
      workingOrders,
    }));
    const request = { operation: 'setWorkOrderList', method: 'PUT', body: { machines } } as const;
    return this.requests.call({ ...request, path: 'workOrderList' }, applied, caller);
  }

  /** For callers that choose what to send when their turn has come; undefined without a rate limit. */
  get turns(): Pick<RequestPace, 'awaitTurn' | 'returnTurn'> | undefined {
    return this.requests.pace;
  }

  /** How far the service's clock is ahead of ours, by its latest answers; undefined while none had a usable `Date`. */
  get clockOffset(): ClockOffset | undefined {
    return this.requests.clockOffset;
  }

  /** Waits for calls in flight (each has its deadline), then closes every connection. */
  async close(): Promise<void> {
    await this.requests.close();
  }
}

function isNotFound(answer: HttpAnswer<unknown>): boolean {
  return answer.kind === 'rejected' && answer.status === 404;
}

function hasRead(answer: HttpAnswer<unknown>): boolean {
  return answer.kind === 'data' || answer.kind === 'noData';
}

function isMethodUnknown(answer: HttpAnswer<unknown>): boolean {
  return answer.kind === 'retry' && METHOD_UNKNOWN.includes(answer.error.status);
}
