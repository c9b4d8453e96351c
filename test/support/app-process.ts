import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Environment } from '#libs/config';
import { BRIDGE_NODE_OPTIONS } from '../../tools/start/node-options.mjs';
import { eventually } from './eventually.js';
import { rememberSecrets } from './secrets.js';

/** A built app as a process of its own, as it runs in a plant. */
export class AppProcess {
  output = '';
  private readonly child: ChildProcess;
  private readonly exited: Promise<unknown>;
  private readonly secrets: Map<string, string>;

  constructor(
    app: 'bridge' | 'ingest' | 'sandbox' | 'terminal',
    private readonly env: Environment,
  ) {
    this.secrets = rememberSecrets(env);
    // PATH alone is inherited: settings of whoever runs the tests must not leak in.
    const options = app === 'bridge' ? BRIDGE_NODE_OPTIONS : [];
    this.child = spawn(process.execPath, [...options, `dist/apps/${app}/src/main.js`], {
      env: { PATH: process.env['PATH'], ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.exited = once(this.child, 'exit');
    for (const stream of [this.child.stdout, this.child.stderr]) {
      stream?.setEncoding('utf8').on('data', (text: string) => {
        this.output += text;
      });
    }
  }

  get pid(): number {
    return this.child.pid ?? 0;
  }

  /** The first group of `pattern`, once the output has it. */
  saying(pattern: RegExp, what: string): Promise<string> {
    return eventually(() => pattern.exec(this.output)?.[1], { what, timeoutMs: 60_000 });
  }

  kill(signal: NodeJS.Signals): void {
    this.child.kill(signal);
  }

  /** The exit code, null when a signal ended it. */
  async exitCode(): Promise<number | null> {
    await this.exited;
    return this.child.exitCode;
  }

  /**
   * Leaves nothing behind after a test that failed.
   *
   * @throws Error when Node has warned of something, such as of what a later version will no longer do, and when the
   * output holds a secret that the process was given
   */
  async close(): Promise<void> {
    this.child.kill('SIGKILL');
    await this.exited;
    // a file may hold another one by now
    for (const [name, secret] of [...this.secrets, ...rememberSecrets(this.env)]) {
      if (this.output.includes(secret)) throw new Error(`the output holds the secret of ${name}`);
    }
    const [warning] = /^\(node:\d+\).*Warning.*/m.exec(this.output) ?? [];
    if (warning !== undefined) throw new Error(warning);
  }
}
