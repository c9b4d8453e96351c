import { Clock } from '#libs/clock';
import { type HttpAnswer, describeUnauthorised, MachineCloudClient } from '#libs/cloud-client';
import type { BridgeSettings } from '#libs/config';
import type { Flow } from '#libs/contracts';
import { failure, type Finding, passed, unreachable, warning } from '../command-line/findings.js';

/** With NTP, clocks differ by less than a second. */
const WORTH_A_WARNING_MS = 5000;
const LOG_SECONDS = 3600;
/**
 * A machineId for probes where the token sees no machine. The service refuses it without a 403 if the scope is there.
 */
const NO_MACHINE = 'machine-bridge-check';

interface Operation {
  name: string;
  flows: readonly Flow[];
  /** The flows work without it, with fewer functions. */
  isOptional?: true;
  /** Called without a machine: a service that has the operation answers 422. */
  isEmptyCall?: true;
  call: (
    client: MachineCloudClient,
    machineId: string,
    now: number,
  ) => Promise<HttpAnswer<unknown>>;
}

/** All operations but getMachineInfo. Those that write are called without a machine, which sets nothing. */
const OPERATIONS: readonly Operation[] = [
  {
    name: 'getMachineState',
    flows: ['machine-states'],
    call: (client, machineId) => client.getMachineState(machineId),
  },
  {
    name: 'getMachineActivityLog',
    flows: ['machine-states'],
    call: (client, machineId, now) =>
      client.getMachineActivityLog({ machineId, startTime: now - LOG_SECONDS, endTime: now }),
  },
  {
    name: 'getClassificationReasons',
    flows: ['downtime-reasons', 'machine-states'],
    isOptional: true,
    call: (client, machineId) => client.getClassificationReasons(machineId),
  },
  {
    name: 'setMachineClassification',
    flows: ['downtime-reasons'],
    isEmptyCall: true,
    call: (client) => client.setNoMachineClassification(),
  },
  {
    name: 'setWorkOrderList',
    flows: ['work-orders'],
    isEmptyCall: true,
    call: (client) => client.setWorkOrderList([]),
  },
];

/** Reaches the service, and calls each operation that a flow uses. Sets nothing there. */
export async function checkService({
  machineCloud,
  flows,
  clock,
}: BridgeSettings): Promise<Finding[]> {
  const { maxConcurrency, ...options } = machineCloud;
  const ours = new Clock(clock);
  const client = new MachineCloudClient({
    ...options,
    maxConnections: maxConcurrency,
    clock: ours,
  });
  try {
    const machines = await client.getMachineInfo();
    const first = operationFinding('getMachineInfo', machines, {
      isNeeded: flows.has('machine-states'),
      missing: 'the token lacks the scope to read the machine list',
      expected: [],
    });
    if (
      machines.kind === 'retry' ||
      (machines.kind === 'unauthorised' && machines.status === 401)
    ) {
      return [first];
    }
    const known = machines.kind === 'data' ? machines.data : [];
    const findings = [
      machines.kind === 'data' ? { ...first, detail: `${known.length} machines` } : first,
    ];
    for (const { name, flows: served, isOptional, isEmptyCall, call } of OPERATIONS) {
      const neededBy = served.filter((flow) => flows.has(flow));
      if (neededBy.length === 0) continue;
      const answer = await call(client, known[0]?.machineId ?? NO_MACHINE, ours.nowSeconds());
      findings.push(
        operationFinding(name, answer, {
          isNeeded: isOptional !== true,
          missing: `the token lacks the scope for it, which ${neededBy.join(' and ')} asks for`,
          expected: isEmptyCall ? [422] : known.length === 0 ? [404, 422] : [],
        }),
      );
    }
    return [...findings, clockFinding(client)];
  } finally {
    await client.closeConnections();
  }
}

function operationFinding(
  operation: string,
  answer: HttpAnswer<unknown>,
  {
    isNeeded,
    missing,
    expected,
  }: { isNeeded: boolean; missing: string; expected: readonly number[] },
): Finding {
  const check = `service ${operation}`;
  const denial = isNeeded ? failure : warning;
  switch (answer.kind) {
    case 'data':
    case 'noData':
      return passed(check, 'answered');
    case 'rejected':
      if (expected.includes(answer.status)) {
        return passed(check, `answered with ${answer.status}, as it should`);
      }
      return denial(
        check,
        `answered with ${answer.status}: ${answer.detail}`,
        'check MACHINE_CLOUD_BASE_URL: its host or path may be that of another server, or a gateway on the way answers',
      );
    case 'unauthorised':
      if (answer.status === 401) {
        const remedy = 'renew the token; see Settings in docs/operations.md';
        return failure(check, describeUnauthorised(answer), remedy);
      }
      return denial(
        check,
        `${missing} (403)`,
        'have the scope granted, or leave the flow out of BRIDGE_FLOWS',
      );
    case 'retry': {
      const { code, message } = answer.error;
      const finding = code === 'network' || code === 'timeout' ? unreachable : failure;
      return finding(check, message, 'check MACHINE_CLOUD_BASE_URL and the way to the service');
    }
    default:
      return answer satisfies never;
  }
}

function clockFinding({ clockOffset }: MachineCloudClient): Finding {
  const check = 'service clock';
  if (clockOffset === undefined) return passed(check, 'not known: its answers carry no Date');
  const { offsetMs, errorMs } = clockOffset;
  const detail = `${(offsetMs / 1000).toFixed(1)} s ahead of ours, ± ${(errorMs / 1000).toFixed(1)} s`;
  if (Math.abs(offsetMs) - errorMs <= WORTH_A_WARNING_MS) return passed(check, detail);
  return warning(check, detail, 'check NTP on this host, then on the service');
}
