import { useEffect, useRef, useState } from 'preact/hooks';

/**
 * Which of a list's keys to draw: those that are drawn, and `step` more of those that are not with every frame, from
 * the first on. What a screen shows is there at once; a tap does not wait for what is below it.
 */
export function useGrowing(keys: readonly string[], step: number): ReadonlySet<string> {
  const before = useRef<ReadonlySet<string>>(new Set());
  const [, draw] = useState(0);
  let room = step;
  const drawn = new Set(keys.filter((key) => before.current.has(key) || room-- > 0));
  before.current = drawn;
  const isWhole = drawn.size === keys.length;
  useEffect(() => {
    if (isWhole) return;
    const frame = requestAnimationFrame(() => draw((count) => count + 1));
    return () => cancelAnimationFrame(frame);
  });
  return drawn;
}
