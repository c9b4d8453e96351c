import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readlinkSync } from 'node:fs';
import type { Readable } from 'node:stream';
import type { Environment } from '#libs/config';
import { NODE_OPTIONS } from '../../tools/start/node-options.mjs';
import { askOnceMore } from './ask-once-more.js';
import { eventually } from './eventually.js';
import { untilReady } from './health.js';
import { rememberSecrets, secretIn } from './secrets.js';

const URL_SAID = /"url":"(http:[^"]+)"/;

/** A built app in a separate process, as it runs in a plant. */
export class AppProcess {
  output = '';
  /** All HTTP answers of the app, to any client. */
  private served = '';
  private readonly child: ChildProcess;
  private readonly closed: Promise<unknown>;

  constructor(
    private readonly app: 'bridge' | 'ingest' | 'sandbox' | 'terminal',
    private readonly env: Environment,
  ) {
    rememberSecrets(env);
    // only PATH is inherited: settings in the environment of the tests must not leak in
    const options = [...(NODE_OPTIONS[app] ?? [])];
    // the sandbox has no secrets, and answers a hundred thousand calls
    if (app !== 'sandbox') options.push('--import=./test/support/report-served-http.mjs');
    this.child = spawn(process.execPath, [...options, `dist/apps/${app}/src/main.js`], {
      env: { PATH: process.env['PATH'], ...env },
      stdio: ['ignore', 'pipe', 'pipe', 'pipe'],
    });
    this.closed = once(this.child, 'close');
    const [, stdout, stderr, served] = this.child.stdio as (Readable | null)[];
    for (const stream of [stdout, stderr]) {
      stream?.setEncoding('utf8').on('data', (text: string) => {
        this.output += text;
      });
    }
    served?.setEncoding('latin1').on('data', (text: string) => {
      this.served += text;
    });
  }

  get pid(): number {
    return this.child.pid ?? 0;
  }

  /** Waits until the output matches `pattern`, and returns the first group. */
  untilOutputMatches(pattern: RegExp, what: string): Promise<string> {
    return eventually(what, () => pattern.exec(this.output)?.[1]);
  }

  /** Waits for the log line with the HTTP address, and returns the address. */
  url(): Promise<string> {
    return eventually('it says where it listens', () => this.listensAt);
  }

  /** The HTTP address, undefined before the log has it. */
  get listensAt(): string | undefined {
    return URL_SAID.exec(this.output)?.[1]?.replace('[::1]', '127.0.0.1');
  }

  /** Waits until the app is ready, and returns its HTTP address. */
  async ready(): Promise<string> {
    const url = await this.url();
    await untilReady(url);
    return url;
  }

  kill(signal: NodeJS.Signals): void {
    this.child.kill(signal);
  }

  get hasEnded(): boolean {
    return this.child.exitCode !== null || this.child.signalCode !== null;
  }

  lastLines(count: number): string {
    return this.output.trimEnd().split('\n').slice(-count).join('\n');
  }

  /** The number of open sockets, on Linux. */
  get sockets(): number {
    const folder = `/proc/${this.pid}/fd`;
    const opened = readdirSync(folder).map((name) => readlinkIfThere(`${folder}/${name}`));
    return opened.filter((target) => target.startsWith('socket:')).length;
  }

  /** The exit code after all output has been read; null if a signal ended the process. */
  async exitCode(): Promise<number | null> {
    await this.closed;
    return this.child.exitCode;
  }

  /**
   * Ends the process after a test, also after a failed one.
   *
   * @throws Error when Node has warned of something, such as a deprecation, and when the output or an answer holds a
   *   secret that a process of this test was given
   */
  async close(): Promise<void> {
    await this.askOnceMore();
    this.child.kill('SIGKILL');
    await this.closed;
    // a file may hold another secret by now
    rememberSecrets(this.env);
    for (const [what, text] of [
      ['output', this.output],
      ['answers', this.served],
    ] as const) {
      const setting = secretIn(text);
      if (setting !== undefined) throw new Error(`its ${what} hold the secret of ${setting}`);
    }
    const [warning] = /^\(node:\d+\).*Warning.*/m.exec(this.output) ?? [];
    if (warning !== undefined) throw new Error(warning);
  }

  private async askOnceMore(): Promise<void> {
    const { app, env, hasEnded, output } = this;
    if (app === 'sandbox' || hasEnded || !URL_SAID.test(output)) return;
    await askOnceMore(app, await this.url(), env);
  }
}

function readlinkIfThere(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    return '';
  }
}
