import type { JSX, RefObject, TargetedKeyboardEvent, TargetedPointerEvent } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { type Bar, pan, type ReasonBar, type Shift, ticksOf, zoom } from '../model/strip.js';
import { overlap, type Period } from '../model/periods.js';
import { formats, strings } from '../state/store.js';
import { Icon } from './icons.js';

const TOP = 8;
const LANE = 84;
const GAP = 10;
const REASONS = 48;
const AXIS = 30;
const HEIGHT = TOP + LANE + GAP + REASONS + AXIS;
/** Bars show their state by height, too: a stopped machine is lower than one that runs. */
const SHARE = { OPERATING: 1, IDLE: 0.7, OFF: 0.45, NO_DATA: 1 } as const;
const DRAG_PX = 8;
/** A narrower bar has no room for a name. */
const NAME_FROM_PX = 64;
const ZOOM_STEP = 0.5;
/** For reasons without a colour. */
const PLAIN = '#5a666e';

export function zoomView(view: Shift, shift: Shift, inwards: boolean): Shift {
  const middle = (view.startTime + view.endTime) / 2;
  return zoom(view, inwards ? ZOOM_STEP : 1 / ZOOM_STEP, middle, shift);
}

export function moveView(view: Shift, shift: Shift, forwards: boolean): Shift {
  const step = (view.endTime - view.startTime) / 3;
  return pan(view, forwards ? step : -step, shift);
}

/** The shift as a strip: states above, reasons below, and the plant's time. */
export function Strip(props: {
  bars: readonly Bar[];
  reasons: readonly (ReasonBar & { name: string; colour: string | null })[];
  /** Stops that need a reason. */
  open: readonly Period[];
  shift: Shift;
  view: Shift;
  now: number;
  onView: (view: Shift) => void;
  onPick: (bar: Bar) => void;
}): JSX.Element {
  const { bars, reasons, open, shift, view, now, onView, onPick } = props;
  const [frame, width] = useWidth();
  const words = strings.value;
  const { time, span } = formats.value;
  // a key, not an index: zooming takes bars out of view
  const [focusedKey, setFocusedKey] = useState(-1);
  const last = useRef({ view, width });
  const pointers = useRef(new Map<number, number>());
  const dragged = useRef(false);
  // bars glide when a correction moves them, and follow a finger at once
  const isGliding = last.current.view === view && last.current.width === width;
  last.current = { view, width };

  const length = view.endTime - view.startTime;
  const xOf = (at: number): number => ((at - view.startTime) / length) * width;
  const timeAt = (x: number): number => view.startTime + (x / width) * length;
  const inView = bars.filter((bar) => overlap(bar, view));
  const current = Math.max(
    0,
    inView.findIndex(({ key }) => key === focusedKey),
  );

  const labelOf = (bar: Bar): string => {
    const state = words.state[bar.state ?? 'NO_DATA'];
    const end = bar.isOpen ? words.now : time(bar.endTime);
    return [
      words.stopOf(state, time(bar.startTime), end),
      span(bar.endTime - bar.startTime),
      reasons.find((candidate) => overlap(candidate, bar))?.name,
      open.some((stop) => overlap(stop, bar)) && words.needsReason,
      bar.revision > 0 && words.correctedMark,
    ]
      .filter(Boolean)
      .join(', ');
  };

  const onKeyDown = (event: TargetedKeyboardEvent<SVGSVGElement>): void => {
    const focus = (index: number): void => {
      const at = Math.min(inView.length - 1, Math.max(0, index));
      event.currentTarget.querySelectorAll<SVGElement>('.bar')[at]?.focus();
    };
    const bar = inView[current];
    const focused: Record<string, number> = {
      ArrowRight: current + 1,
      ArrowLeft: current - 1,
      Home: 0,
      End: inView.length - 1,
    };
    const views: Record<string, Shift> = {
      '+': zoom(view, ZOOM_STEP, bar ? bar.startTime : now, shift),
      '-': zoomView(view, shift, false),
      PageUp: moveView(view, shift, false),
      PageDown: moveView(view, shift, true),
    };
    const [index, next] = [focused[event.key], views[event.key]];
    if (index !== undefined) focus(index);
    else if (next) onView(next);
    else if (event.key !== 'Enter' && event.key !== ' ') return;
    else if (bar) onPick(bar);
    event.preventDefault();
  };

  const onPointerMove = (event: TargetedPointerEvent<SVGSVGElement>): void => {
    const before = pointers.current.get(event.pointerId);
    if (before === undefined) return;
    const others = [...pointers.current].filter(([id]) => id !== event.pointerId).map(([, x]) => x);
    const x = event.clientX;
    if (Math.abs(x - before) < DRAG_PX && !dragged.current) return;
    dragged.current = true;
    pointers.current.set(event.pointerId, x);
    const left = event.currentTarget.getBoundingClientRect().left;
    const [other] = others;
    if (other === undefined) {
      onView(pan(view, ((before - x) / width) * length, shift));
    } else {
      const factor = Math.abs(before - other) / Math.max(1, Math.abs(x - other));
      onView(zoom(view, factor, timeAt((x + other) / 2 - left), shift));
    }
  };
  const endPointer = ({ pointerId }: TargetedPointerEvent<SVGSVGElement>): void => {
    pointers.current.delete(pointerId);
  };

  const axis = TOP + LANE + GAP + REASONS;
  return (
    <div class="strip-frame" ref={frame}>
      <svg
        class={`strip ${isGliding ? 'gliding' : ''}`}
        width={width}
        height={HEIGHT}
        role="group"
        aria-label={`${words.strip}. ${words.stripHelp}`}
        onKeyDown={onKeyDown}
        onPointerDown={(event) => {
          if (pointers.current.size === 0) dragged.current = false;
          pointers.current.set(event.pointerId, event.clientX);
        }}
        onPointerMove={onPointerMove}
        onPointerUp={endPointer}
        onPointerCancel={endPointer}
        onPointerLeave={endPointer}
        onWheel={(event) => {
          if (!event.ctrlKey) return;
          event.preventDefault();
          const left = event.currentTarget.getBoundingClientRect().left;
          onView(zoom(view, event.deltaY < 0 ? 0.8 : 1.25, timeAt(event.clientX - left), shift));
        }}
      >
        <defs>
          <pattern
            id="hatch"
            width="9"
            height="9"
            patternUnits="userSpaceOnUse"
            patternTransform="rotate(45)"
          >
            <rect class="hatch-ground" width="9" height="9" />
            <rect class="hatch-line" width="3" height="9" />
          </pattern>
        </defs>
        <rect class="lane" x={0} y={TOP} width={width} height={LANE} />
        <rect class="lane" x={0} y={TOP + LANE + GAP} width={width} height={REASONS} />
        {ticksOf(view, width || 1).map((at) => (
          <g key={at} class="tick-mark">
            <line x1={xOf(at)} x2={xOf(at)} y1={TOP} y2={axis + 6} />
            <text
              x={Math.min(width - 24, Math.max(24, xOf(at)))}
              y={axis + 24}
              text-anchor="middle"
            >
              {time(at)}
            </text>
          </g>
        ))}
        {inView.map((bar, index) => {
          const look = bar.state ?? 'NO_DATA';
          const height = LANE * SHARE[look];
          const x = xOf(bar.startTime);
          const barWidth = Math.max(1.5, xOf(bar.endTime) - x);
          const y = TOP + LANE - height;
          return (
            <g
              key={bar.key}
              class="bar"
              role="button"
              tabindex={index === current ? 0 : -1}
              aria-label={labelOf(bar)}
              data-state={look}
              onFocus={() => setFocusedKey(bar.key)}
              onClick={() => {
                if (!dragged.current) onPick(bar);
              }}
            >
              <rect fill="transparent" x={x} y={TOP} width={barWidth} height={LANE} />
              <rect class={`state ${look}`} x={x} y={y} width={barWidth} height={height} />
              {barWidth > 30 && (
                <Icon
                  name={look}
                  class={`bar-sign ${look}`}
                  x={Math.max(0, x) + 5}
                  y={TOP + LANE - 30}
                  width={22}
                  height={22}
                />
              )}
              <rect
                class="focus"
                fill="none"
                x={x + 1.5}
                y={TOP - 3}
                width={Math.max(3, barWidth - 3)}
                height={LANE + 6}
                rx={3}
              />
            </g>
          );
        })}
        {open.map((stop) => {
          const x = xOf(Math.max(stop.startTime, view.startTime));
          const end = xOf(Math.min(stop.endTime ?? now, view.endTime));
          if (end <= 0 || x >= width || end <= x) return null;
          return <Unexplained key={stop.startTime} x={x} width={end - x} />;
        })}
        {reasons
          .filter((reason) => overlap(reason, view))
          .map((reason) => {
            const x = Math.max(0, xOf(reason.startTime));
            const barWidth = Math.max(2, xOf(reason.endTime) - x - 1);
            const end = reason.isOpen ? words.now : time(reason.endTime);
            const fill = reason.colour ?? PLAIN;
            return (
              <svg
                key={`${reason.entryId}-${String(reason.startTime)}`}
                class={`reason ${reason.moved ? 'moved' : ''}`}
                x={x}
                y={TOP + LANE + GAP}
                width={barWidth}
                height={REASONS}
              >
                <title>{`${reason.name}, ${time(reason.startTime)}–${end}`}</title>
                <rect class="reason-ground" width={barWidth} height={REASONS} fill={fill} />
                <rect width={Math.min(6, barWidth)} height={REASONS} fill={fill} />
                {barWidth >= NAME_FROM_PX && (
                  <text class="reason-name" x={12} y={REASONS / 2 + 6} aria-hidden="true">
                    {reason.moved ? `${words.movedMark}: ${reason.name}` : reason.name}
                  </text>
                )}
              </svg>
            );
          })}
        {now < view.endTime && now > view.startTime && (
          <line class="now" x1={xOf(now)} x2={xOf(now)} y1={TOP - 6} y2={axis + 6} />
        )}
      </svg>
    </div>
  );
}

function Unexplained({ x, width }: { x: number; width: number }): JSX.Element {
  return (
    <g class="unexplained">
      <rect
        x={x + 1}
        y={TOP + LANE + GAP + 1}
        width={Math.max(2, width - 2)}
        height={REASONS - 2}
        rx={3}
      />
      {width > 26 && (
        <Icon
          name="attention"
          class="bar-sign"
          x={x + width / 2 - 12}
          y={TOP + LANE + GAP + REASONS / 2 - 12}
          width={24}
          height={24}
        />
      )}
    </g>
  );
}

/** The width of an element in CSS pixels, 0 before it is measured. */
function useWidth(): [RefObject<HTMLDivElement | null>, number] {
  const element = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(0);
  useEffect(() => {
    if (!element.current) return;
    const observer = new ResizeObserver(([entry]) =>
      setWidth(Math.floor(entry?.contentRect.width ?? 0)),
    );
    observer.observe(element.current);
    return () => observer.disconnect();
  }, []);
  return [element, width];
}
