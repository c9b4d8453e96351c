import { Logger } from '@nestjs/common';

export interface CapturedLogs {
  /** What was logged, from debug up, in order. */
  lines: () => unknown[];
  text: () => string;
  /** From then on nothing is logged, as before. */
  release: () => void;
}

/** Takes what is logged from now on. */
export function captureLogs(): CapturedLogs {
  const lines: unknown[] = [];
  const take = (line: unknown): void => {
    lines.push(line);
  };
  Logger.overrideLogger({ log: take, warn: take, error: take, debug: take });
  return {
    lines: () => lines,
    text: () => JSON.stringify(lines),
    release: () => {
      Logger.overrideLogger(false);
    },
  };
}
