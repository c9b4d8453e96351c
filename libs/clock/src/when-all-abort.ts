import { onAbort } from './on-abort.js';

/** A signal that aborts once the last of others has, until it is released. */
export function whenAllAbort(signals: ReadonlySet<AbortSignal>): {
  signal: AbortSignal;
  release: () => void;
} {
  const all = new AbortController();
  const check = (): void => {
    if ([...signals].every(({ aborted }) => aborted)) all.abort(new Error('nobody waits any more'));
  };
  const leave = [...signals].map((signal) => onAbort(signal, check));
  check();
  return {
    signal: all.signal,
    release: () => {
      for (const each of leave) each();
    },
  };
}
