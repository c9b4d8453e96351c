import './setup/require-node.mjs';
import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { buildApps } from './setup/build.mjs';
import { installDependencies } from './setup/dependencies.mjs';
import { withSetupLock } from './setup/lock.mjs';
import { say, SetupError } from './setup/command.mjs';

/** Installs and builds everything that is not up to date; prints nothing if everything is. */
export async function setUp({ build = true } = {}) {
  await withSetupLock(async () => {
    await installDependencies();
    if (build) await buildApps();
  });
}

/** Runs a command's body. A missing prerequisite gives a message, any other error a stack trace; both exit 1. */
export async function runCommand(body, onFailure = () => process.exit(1)) {
  try {
    await body();
  } catch (error) {
    say(error instanceof SetupError ? `\n${error.message}` : error.stack);
    await onFailure(error);
  }
}

if (process.argv[1] && resolve(process.argv[1]) === fileURLToPath(import.meta.url)) {
  await runCommand(() => setUp());
}
