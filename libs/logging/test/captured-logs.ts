import { Logger } from '@nestjs/common';

export interface CapturedLogs {
  /** Lines logged so far, from debug up, in order. */
  lines: () => unknown[];
  text: () => string;
  /** Stops capturing: nothing is logged afterwards. */
  release: () => void;
}

/** Captures log lines from now on. */
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
