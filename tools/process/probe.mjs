import { execFile } from 'node:child_process';

/**
 * What a program prints, `{stdout, stderr}`; undefined where it is not there, fails or takes longer than 20 s. Does not
 * block: a Ctrl-C ends the program as well, and its failure is then no answer.
 */
export function probe(command, args, options = {}) {
  return new Promise((resolve) => {
    execFile(command, args, { timeout: 20_000, ...options }, (error, stdout, stderr) => {
      resolve(error ? undefined : { stdout, stderr });
    });
  });
}
