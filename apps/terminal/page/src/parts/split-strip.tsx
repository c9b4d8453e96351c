import type { JSX } from 'preact';
import { secondsOf, type Period } from '../model/periods.js';
import { firstSplit, lastSplit, snapSplit, splitAt } from '../model/split.js';
import { plantNow } from '../state/clock.js';
import { formats, strings } from '../state/store.js';
import { Icon } from './icons.js';
import { Button, Segments } from './controls.js';

/** A slider by itself goes a tenth of its length. */
const PAGE_STEPS: Record<string, number> = { PageDown: -600, PageUp: 600 };

/** A stop cut in two at a minute: dragged, by arrow keys, or by the buttons for a glove. */
export function SplitStrip(props: {
  period: Period;
  state: string;
  at: number;
  /** What the time of the split becomes, computed from what it is: taps come faster than the page is drawn. */
  onSplit: (next: (at: number) => number) => void;
  /** Which part the reason is for. */
  part: 0 | 1;
  onPart: (part: 0 | 1) => void;
  /** The reason already chosen for a part. */
  chosen: readonly [string | null, string | null];
}): JSX.Element {
  const { period, state, at, onSplit, part, onPart, chosen } = props;
  const words = strings.value;
  const { time, span } = formats.value;
  const now = plantNow.value;
  const moveTo = (wanted: (at: number) => number): void =>
    onSplit((before) => snapSplit(wanted(before), period, plantNow.peek()));
  const parts = splitAt(period, at);
  return (
    <div class="split column">
      <div class="split-row row">
        <Button onClick={() => moveTo((before) => before - 60)}>
          −1 min
          <span class="visually-hidden">, {words.minuteEarlier}</span>
        </Button>
        <input
          class={`split-strip ${state}`}
          type="range"
          min={firstSplit(period)}
          max={lastSplit(period, now)}
          step={60}
          value={at}
          aria-label={words.splitAt}
          aria-valuetext={time(at)}
          onKeyDown={(event) => {
            const step = PAGE_STEPS[event.key];
            if (step === undefined) return;
            event.preventDefault();
            moveTo((before) => before + step);
          }}
          onInput={({ currentTarget: { valueAsNumber } }) => moveTo(() => valueAsNumber)}
        />
        <Button onClick={() => moveTo((before) => before + 60)}>
          +1 min
          <span class="visually-hidden">, {words.minuteLater}</span>
        </Button>
      </div>
      <Segments kind="split-parts" label={words.split} of={[0, 1]} chosen={part} onChoose={onPart}>
        {(index) => {
          const { startTime, endTime } = parts[index];
          return (
            <>
              {chosen[index] !== null && <Icon name="check" />}
              <span>
                {time(startTime)}–{endTime === null ? words.now : time(endTime)} ·{' '}
                {span(secondsOf(parts[index], now))}
                {chosen[index] !== null && <b> {chosen[index]}</b>}
              </span>
            </>
          );
        }}
      </Segments>
    </div>
  );
}
