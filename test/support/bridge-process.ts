import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { type Environment } from '#libs/config';
import { eventually } from './eventually.js';

/** The built bridge as a process of its own, as it runs in a plant. */
export class BridgeProcess {
  output = '';
  private readonly child: ChildProcess;
  private readonly exited: Promise<unknown>;

  constructor(env: Environment) {
    // PATH alone is inherited: settings of whoever runs the tests must not leak in.
    this.child = spawn(process.execPath, ['dist/apps/bridge/src/main.js'], {
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

  /** Where its HTTP listens, once it says so. */
  async url(): Promise<string> {
    const started = await eventually(() => /"url":"(http:[^"]+)"/.exec(this.output)?.[1], {
      what: 'the bridge says where it listens',
      timeoutMs: 60_000,
    });
    return started.replace('[::1]', '127.0.0.1');
  }

  async ready(): Promise<string> {
    const url = await this.url();
    await eventually(async () => (await fetch(`${url}/health/ready`)).ok, {
      what: 'the bridge is ready',
      timeoutMs: 30_000,
    });
    return url;
  }

  kill(signal: NodeJS.Signals): void {
    this.child.kill(signal);
  }

  /** The exit code, null when a signal ended it. */
  async exitCode(): Promise<number | null> {
    await this.exited;
    return this.child.exitCode;
  }

  /** Leaves nothing behind after a test that failed. */
  async close(): Promise<void> {
    this.child.kill('SIGKILL');
    await this.exited;
  }
}
