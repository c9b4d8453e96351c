import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Environment } from '#libs/config';
import { eventually } from './eventually.js';
import { testBrokers } from './kafka.js';
import { rememberSecrets, secretIn } from './secrets.js';

export interface CommandResult {
  /** Null if a signal ended it. */
  exitCode: number | null;
  stdout: string;
  stdoutBytes: Buffer;
  stderr: string;
}

interface CommandOptions {
  topicPrefix: string;
  brokers?: string;
  /** Settings in addition to these. */
  env?: Environment;
}

/** A built command of the bridge in a separate process. */
export class RunningCommand {
  private readonly child: ChildProcess;
  private readonly stdout: Buffer[] = [];
  private readonly stderr: Buffer[] = [];
  private readonly closed: Promise<unknown>;

  constructor(args: readonly string[], { topicPrefix, brokers, env = {} }: CommandOptions) {
    rememberSecrets(env);
    this.child = spawn(process.execPath, ['dist/apps/cli/src/main.js', ...args], {
      // only PATH is inherited: settings in the environment of the tests must not leak in
      env: {
        PATH: process.env['PATH'],
        KAFKA_BROKERS: brokers ?? testBrokers().join(','),
        KAFKA_TOPIC_PREFIX: topicPrefix,
        ...env,
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.closed = once(this.child, 'close');
    this.child.stdout?.on('data', (bytes: Buffer) => this.stdout.push(bytes));
    this.child.stderr?.on('data', (bytes: Buffer) => this.stderr.push(bytes));
  }

  /** Waits until stdout or stderr matches. */
  async untilOutputMatches(pattern: RegExp): Promise<void> {
    await eventually(`the command says ${String(pattern)}`, () =>
      [this.stdout, this.stderr].some((parts) => pattern.test(Buffer.concat(parts).toString())),
    );
  }

  /** Closes the pipe, as `head` does. */
  stopReading(stream: 'stdout' | 'stderr'): void {
    this.child[stream]?.destroy();
  }

  kill(signal: NodeJS.Signals): void {
    this.child.kill(signal);
  }

  /** @throws Error when the output holds a secret that a process of this test was given */
  async result(): Promise<CommandResult> {
    await this.closed;
    const stdoutBytes = Buffer.concat(this.stdout);
    const stdout = stdoutBytes.toString();
    const stderr = Buffer.concat(this.stderr).toString();
    const setting = secretIn(`${stdout}\n${stderr}`);
    if (setting !== undefined) throw new Error(`its output holds the secret of ${setting}`);
    return { exitCode: this.child.exitCode, stdout, stdoutBytes, stderr };
  }
}

/** The output of a command with `--json`. @throws Error when it has failed without any */
export function jsonLines<T>({ exitCode, stdout, stderr }: CommandResult): T[] {
  const lines = stdout.split('\n').filter((line) => line !== '');
  if (lines.length === 0 && exitCode !== 0) throw new Error(`exit code ${exitCode}: ${stderr}`);
  return lines.map((line) => JSON.parse(line) as T);
}

/** Runs a command to its end. */
export function runCommand(
  args: readonly string[],
  options: CommandOptions,
): Promise<CommandResult> {
  return new RunningCommand(args, options).result();
}
