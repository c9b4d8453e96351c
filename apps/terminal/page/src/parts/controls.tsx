import type { ComponentChildren, JSX } from 'preact';
import type { Tile } from '../../../src/api/index.js';
import { plantNow } from '../state/clock.js';
import {
  connection,
  factoryId,
  formats,
  isOld,
  knownUntilOf,
  link,
  session,
  setFactory,
  strings,
} from '../state/store.js';
import { Icon, type IconName } from './icons.js';

const DOUBLE_TAP_MS = 500;
const DOUBLE_TAP_PX = 40;
const tap = { atMs: -Infinity, x: 0, y: 0, isSecond: false };
window.addEventListener(
  'pointerdown',
  ({ pointerType, timeStamp: atMs, clientX: x, clientY: y }) => {
    const isSoon = atMs - tap.atMs < DOUBLE_TAP_MS;
    const isNear = Math.hypot(x - tap.x, y - tap.y) < DOUBLE_TAP_PX;
    Object.assign(tap, { atMs, x, y, isSecond: pointerType === 'touch' && isSoon && isNear });
  },
  { capture: true },
);

/** Whether a click is the second of a double tap. Safari on tablets does not count clicks: `detail` is always 1. */
export function isSecondTap({ detail }: MouseEvent): boolean {
  return detail > 1 || (detail === 1 && tap.isSecond);
}

type ButtonProps = JSX.IntrinsicElements['button'] & {
  icon?: IconName;
  kind?: 'primary' | 'quiet' | 'square' | `chip ${string}`;
};

export function Button({ icon, kind, children, ...rest }: ButtonProps): JSX.Element {
  return (
    <button type="button" {...rest} class={kind ? `button ${kind}` : 'button'}>
      {icon && <Icon name={icon} />}
      {children}
    </button>
  );
}

/** A choice between a few values, all of them visible. */
export function Segments<T extends string | number>(props: {
  label: string;
  kind?: string;
  of: readonly T[];
  chosen: T;
  onChoose: (choice: T) => void;
  children: (choice: T) => ComponentChildren;
}): JSX.Element {
  const { label, kind = '', of, chosen, onChoose, children } = props;
  return (
    <div class={`segments ${kind}`} role="group" aria-label={label}>
      {of.map((choice) => (
        <button
          key={choice}
          type="button"
          aria-pressed={choice === chosen}
          onClick={() => onChoose(choice)}
        >
          {children(choice)}
        </button>
      ))}
    </div>
  );
}

export function Search(props: {
  label: string;
  text: string;
  onText: (text: string) => void;
}): JSX.Element {
  return (
    <label class="search">
      <Icon name="search" />
      <input
        type="search"
        placeholder={props.label}
        aria-label={props.label}
        value={props.text}
        onInput={({ currentTarget }) => props.onText(currentTarget.value)}
      />
    </label>
  );
}

/** Shown in place of machines if there are none, or none were received yet. */
export function NoMachines(): JSX.Element {
  const words = strings.value;
  const isRead = connection.value.state === 'live' && link.value?.state === 'up';
  return <p class="empty">{isRead ? words.noMachines : words.loading}</p>;
}

export function KnownUntil({ tile }: { tile: Tile }): JSX.Element {
  const knownUntil = knownUntilOf(tile);
  if (knownUntil === null) return <>{strings.value.nothingKnown}</>;
  const text = strings.value.knownUpTo(formats.value.timeOn(knownUntil, plantNow.peek()));
  return <span class={isOld(knownUntil) ? 'old' : ''}>{text}</span>;
}

export function ShiftChoice(props: {
  index: 0 | 1;
  onChoose: (index: 0 | 1) => void;
}): JSX.Element {
  const words = strings.value;
  return (
    <Segments label={words.shift} of={[1, 0]} chosen={props.index} onChoose={props.onChoose}>
      {(shift) => (shift === 0 ? words.thisShift : words.lastShift)}
    </Segments>
  );
}

export function FactoryChoice(): JSX.Element | null {
  const factories = session.value?.factories ?? [];
  const chosen = factoryId.value;
  if (factories.length < 2 && chosen === null) return null;
  const isGone = chosen !== null && !factories.some((factory) => factory.factoryId === chosen);
  const isShared = (name: string): boolean =>
    factories.filter(({ factoryName }) => factoryName === name).length > 1;
  return (
    <select
      class="select"
      aria-label={strings.value.factory}
      value={chosen ?? ''}
      onChange={({ currentTarget }) => setFactory(currentTarget.value || null)}
    >
      <option value="">{strings.value.allFactories}</option>
      {isGone && <option value={chosen}>{chosen}</option>}
      {factories.map((factory) => (
        <option key={factory.factoryId} value={factory.factoryId}>
          {factory.factoryName}
          {isShared(factory.factoryName) && ` · ${factory.factoryId}`}
        </option>
      ))}
    </select>
  );
}
