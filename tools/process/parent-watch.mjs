import { spawnSync } from 'node:child_process';

/**
 * Calls `onGone` once when the npm that runs this script is gone. An npm that is ended with kill -9 passes no signal
 * on, and this script would run on.
 */
export function watchNpm(onGone) {
  if (!process.env.npm_lifecycle_event) return;
  const parent = process.ppid;
  const npm = isShell(parent) ? parentOf(parent) : undefined;
  const timer = setInterval(() => {
    if (process.ppid === parent && (npm === undefined || isAlive(npm))) return;
    clearInterval(timer);
    onGone();
  }, 500);
  timer.unref();
}

/** npm runs a script through a shell. Most shells replace themselves by the script, some stay between. */
function isShell(pid) {
  return /(^|\/|-)(ba|da|z|k|a)?sh$/.test(columnOf(pid, 'comm'));
}

function parentOf(pid) {
  const parent = Number(columnOf(pid, 'ppid'));
  return parent > 1 ? parent : undefined;
}

/** One column of ps for a process; empty when the process is gone. */
export function columnOf(pid, column) {
  const ps = spawnSync('ps', ['-ww', '-o', `${column}=`, '-p', String(pid)], { encoding: 'utf8' });
  // a system without ps shows nothing
  return ps.stdout?.trim() ?? '';
}

export function isAlive(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error.code === 'EPERM';
  }
}
