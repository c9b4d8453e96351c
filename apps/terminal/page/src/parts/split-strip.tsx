import type { JSX, TargetedPointerEvent } from 'preact';
import { useRef } from 'preact/hooks';
import { secondsOf, type Period } from '../model/periods.js';
import { firstSplit, lastSplit, snapSplit, splitAt } from '../model/split.js';
import { plantNow } from '../state/clock.js';
import { formats, strings } from '../state/store.js';
import { Icon } from './icons.js';
import { useWidth } from './use-width.js';
import { Button, Segments } from './controls.js';

const HEIGHT = 76;

interface SplitProps {
  period: Period;
  state: string;
  at: number;
  /** What the time of the split becomes, computed from what it is: keys come faster than the page is drawn. */
  onSplit: (next: (at: number) => number) => void;
  /** Which part the reason is for. */
  part: 0 | 1;
  onPart: (part: 0 | 1) => void;
  /** The reason already chosen for a part. */
  chosen: readonly [string | null, string | null];
}

/** A stop cut in two at a minute: dragged, by arrow keys, or by the buttons for a glove. */
export function SplitStrip({
  period,
  state,
  at,
  onSplit,
  part,
  onPart,
  chosen,
}: SplitProps): JSX.Element {
  const [frame, width] = useWidth<HTMLDivElement>();
  const isDragging = useRef(false);
  const words = strings.value;
  const { time, span } = formats.value;
  const now = plantNow.value;
  const end = period.endTime ?? now;
  const length = Math.max(1, end - period.startTime);
  const x = ((at - period.startTime) / length) * width;
  const moveTo = (wanted: (at: number) => number): void => {
    onSplit((before) => snapSplit(wanted(before), period, plantNow.peek()));
  };
  const moveToPointer = (event: TargetedPointerEvent<SVGSVGElement>): void => {
    const { left } = event.currentTarget.getBoundingClientRect();
    moveTo(() => period.startTime + ((event.clientX - left) / width) * length);
  };
  const STEPS: Record<string, number> = {
    ArrowLeft: -60,
    ArrowRight: 60,
    ArrowDown: -60,
    ArrowUp: 60,
    PageDown: -600,
    PageUp: 600,
  };
  const parts = splitAt(period, at);
  return (
    <div class="split column">
      <div class="split-row row">
        <Button
          onClick={() => {
            moveTo((before) => before - 60);
          }}
        >
          −1 min
          <span class="visually-hidden">, {words.minuteEarlier}</span>
        </Button>
        <div class="split-frame" ref={frame}>
          <svg
            class="split-strip"
            width={width}
            height={HEIGHT}
            role="slider"
            tabindex={0}
            aria-label={words.splitAt}
            aria-valuemin={firstSplit(period)}
            aria-valuemax={lastSplit(period, now)}
            aria-valuenow={at}
            aria-valuetext={time(at)}
            onKeyDown={(event) => {
              const step = STEPS[event.key];
              if (step === undefined) return;
              event.preventDefault();
              moveTo((before) => before + step);
            }}
            onPointerDown={(event) => {
              isDragging.current = true;
              event.currentTarget.setPointerCapture(event.pointerId);
              moveToPointer(event);
            }}
            onPointerMove={(event) => {
              if (isDragging.current) moveToPointer(event);
            }}
            onPointerUp={() => (isDragging.current = false)}
            onPointerCancel={() => (isDragging.current = false)}
          >
            <rect class={`state ${state}`} x={0} y={10} width={width} height={HEIGHT - 20} />
            <rect
              class="split-chosen"
              x={part === 0 ? 0 : x}
              y={HEIGHT - 8}
              width={part === 0 ? x : width - x}
              height={6}
            />
            <line class="split-line" x1={x} x2={x} y1={0} y2={HEIGHT} />
            <rect class="split-handle" x={x - 22} y={14} width={44} height={HEIGHT - 28} rx={8} />
            <path class="split-grip" d={`M${String(x - 5)} 28v20M${String(x + 5)} 28v20`} />
          </svg>
        </div>
        <Button
          onClick={() => {
            moveTo((before) => before + 60);
          }}
        >
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
