import { styleText } from 'node:util';
import { EXIT_CODES } from './exit-codes.js';
import { print, visible, visibleJson } from './output.js';

export interface Finding {
  /** The part that was checked, such as `topic erp.work-orders.v1`. */
  check: string;
  status: 'ok' | 'warn' | 'fail';
  detail: string;
  /** What to do; present unless `ok`. */
  remedy?: string;
  /** Nothing answered; the check may pass later. */
  isUnreachable?: true;
}

export function passed(check: string, detail: string): Finding {
  return { check, status: 'ok', detail };
}

export function warning(check: string, detail: string, remedy: string): Finding {
  return { check, status: 'warn', detail, remedy };
}

export function failure(check: string, detail: string, remedy: string): Finding {
  return { check, status: 'fail', detail, remedy };
}

export function unreachable(check: string, detail: string, remedy: string): Finding {
  return { ...failure(check, detail, remedy), isUnreachable: true };
}

const COLOURS = { ok: 'green', warn: 'yellow', fail: 'red' } as const;

export function printFindings(findings: readonly Finding[], json: boolean): void {
  const width = Math.max(0, ...findings.map(({ check }) => check.length));
  for (const { check, status, detail, remedy } of findings) {
    if (json) {
      print(visibleJson({ kind: 'check', check, status, detail, remedy: remedy ?? null }));
      continue;
    }
    // styleText omits colours if stdout is not a terminal, and with NO_COLOR
    const shown = styleText(COLOURS[status], status.padEnd(4), { stream: process.stdout });
    print(`${shown}  ${check.padEnd(width)}  ${visible(detail)}`);
    if (remedy !== undefined) print(`      ${' '.repeat(width)}  do: ${visible(remedy)}`);
  }
}

export function exitCodeOfFindings(findings: readonly Finding[]): number {
  const failed = findings.filter(({ status }) => status === 'fail');
  if (failed.length === 0) return EXIT_CODES.ok;
  const isUnreachable = failed.some((finding) => finding.isUnreachable);
  return isUnreachable ? EXIT_CODES.unreachable : EXIT_CODES.failed;
}
