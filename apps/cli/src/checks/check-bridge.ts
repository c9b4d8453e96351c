import { VERSION } from '#libs/program';
import { bridgeHttp } from '../command-line/bridge.js';
import { UnreachableError } from '../command-line/exit-codes.js';
import type { Finding } from '../command-line/findings.js';

/** The answer of `/health/ready`, as Terminus has it. */
interface Readiness {
  details?: Record<string, { status?: string; message?: string }>;
}

/** Health of a running bridge; its conditions one by one. */
export async function checkBridge(url: string | undefined): Promise<Finding[]> {
  const bridge = bridgeHttp(url);
  const versions: Finding = {
    check: 'versions',
    status: 'ok',
    detail: `machine-bridge ${VERSION}, Node.js ${process.version} (of this command)`,
  };
  try {
    const ready = await bridge.get('/health/ready');
    const { details = {} } = (await ready.json()) as Readiness;
    return [
      versions,
      { check: 'bridge', status: 'ok', detail: `answers at ${bridge.url}` },
      ...Object.entries(details).map(([name, condition]) => conditionFinding(name, condition)),
      ...(await metricsFindings(await bridge.get('/metrics'))),
    ];
  } catch (error) {
    const isUnreachable = error instanceof UnreachableError;
    return [
      versions,
      {
        check: 'bridge',
        status: 'fail',
        detail: isUnreachable ? error.message : `${bridge.url} is no bridge: ${String(error)}`,
        remedy: 'start it, or name another one with --url',
        ...(isUnreachable && { isUnreachable }),
      },
    ];
  }
}

function conditionFinding(
  name: string,
  { status, message = '' }: { status?: string; message?: string },
): Finding {
  const check = `bridge ${name}`;
  if (status === 'up' && message === '') return { check, status: 'ok', detail: 'ready' };
  if (status === 'up') {
    const remedy = 'once it is to go on: machine-bridge resume';
    return { check, status: 'warn', detail: message, remedy };
  }
  const remedy = 'see Health in docs/operations.md';
  return { check, status: 'fail', detail: message, remedy };
}

async function metricsFindings(answer: Response): Promise<Finding[]> {
  const check = 'bridge metrics';
  if (!answer.ok) {
    const detail = `/metrics answers with ${answer.status}`;
    const remedy = 'set BRIDGE_API_TOKEN to that of the bridge';
    return [{ check, status: 'warn', detail, remedy }];
  }
  const text = await answer.text();
  const [, offset = 'NaN'] =
    /^machine_bridge_service_clock_offset_seconds (\S+)$/m.exec(text) ?? [];
  return [
    versionFinding(text),
    { check, status: 'ok', detail: `its offset of the service's clock is ${offset} s` },
  ];
}

function versionFinding(metrics: string): Finding {
  const check = 'bridge version';
  const [, version = 'unknown'] =
    /^machine_bridge_build_info{version="([^"]*)"} 1$/m.exec(metrics) ?? [];
  const [, node = 'unknown'] = /^nodejs_version_info{version="([^"]*)"/m.exec(metrics) ?? [];
  const detail = `machine-bridge ${version}, Node.js ${node}`;
  if (version === VERSION) return { check, status: 'ok', detail };
  const remedy = `this command is ${VERSION}: use the one of the bridge's version`;
  return { check, status: 'warn', detail, remedy };
}
