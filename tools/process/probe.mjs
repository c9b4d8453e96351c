import { execFile } from 'node:child_process';

const CTRL_C_MS = 1000;

/**
 * Output of a program, `{stdout, stderr}`; undefined if the program is missing, fails or takes longer than 20 s. Does
 * not block: a Ctrl-C ends the program as well, and then its failure does not count as an answer. The failure may come
 * before the Ctrl-C does.
 */
export function probe(command, args, options = {}) {
  return new Promise((resolve) => {
    execFile(command, args, { timeout: 20_000, ...options }, (error, stdout, stderr) => {
      if (error?.signal === 'SIGINT') setTimeout(resolve, CTRL_C_MS);
      else resolve(error ? undefined : { stdout, stderr });
    });
  });
}
