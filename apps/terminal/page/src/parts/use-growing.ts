import { useEffect, useRef, useState } from 'preact/hooks';

/**
 * The keys of a list to draw: those drawn before, and `step` more with every frame, from the first on. The visible part
 * is drawn at once; a tap does not wait for the rest.
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
