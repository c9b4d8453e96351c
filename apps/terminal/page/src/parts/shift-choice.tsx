import type { JSX } from 'preact';
import { strings } from '../state/store.js';

export function ShiftChoice({
  index,
  onChoose,
}: {
  index: 0 | 1;
  onChoose: (index: 0 | 1) => void;
}): JSX.Element {
  const words = strings.value;
  return (
    <div class="segments" role="group" aria-label={words.shift}>
      {([1, 0] as const).map((shift) => (
        <button
          key={shift}
          type="button"
          aria-pressed={index === shift}
          onClick={() => {
            onChoose(shift);
          }}
        >
          {shift === 0 ? words.thisShift : words.lastShift}
        </button>
      ))}
    </div>
  );
}
