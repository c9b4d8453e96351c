/** What the command yields, a line at a time. */
export function print(line: string): void {
  process.stdout.write(`${line}\n`);
}

/** What is said beside it, which is not for the next program in a pipe. */
export function note(line: string): void {
  process.stderr.write(`${line}\n`);
}
