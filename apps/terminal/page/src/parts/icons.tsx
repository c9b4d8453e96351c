import type { JSX } from 'preact';
import type { Look } from '../model/tiles.js';

const PATHS = {
  OPERATING: 'M7 4.5v15l12-7.5z',
  IDLE: 'M6.5 5h4v14h-4zM13.5 5h4v14h-4z',
  OFF: 'M10.7 3h2.6v9h-2.6zM7.6 5.6 9 7.9a5.9 5.9 0 1 0 6 0l1.4-2.3a8.6 8.6 0 1 1-8.8 0z',
  NO_DATA:
    'M8 9.2C8 6.6 9.700 5 12.100 5c2.300 0 3.900 1.400 3.900 3.500 0 1.700-.8 2.500-2 3.500-.9.700-1.100 1.100-1.100 2.200h-2.300c0-1.900.5-2.700 1.700-3.600.9-.7 1.300-1.200 1.300-2 0-.9-.6-1.500-1.600-1.500-1.100 0-1.800.7-1.800 2.100zM10.500 16h2.600v2.600h-2.600z',
  attention:
    'M12 3 1.800 20.500h20.400zM10.900 9.500h2.200v5.500h-2.200zm0 6.700h2.200v2.200h-2.200z',
  check: 'm4.500 12.500 1.800-1.800 3.900 3.900 7.700-7.900 1.800 1.800-9.500 9.700z',
  cross:
    'm6.300 4.700 5.700 5.700 5.700-5.700 1.600 1.600-5.700 5.700 5.700 5.700-1.600 1.600-5.700-5.700-5.700 5.700-1.600-1.600 5.700-5.700-5.700-5.700z',
  waiting:
    'M12 2.800a9.200 9.200 0 1 0 0 18.400 9.200 9.200 0 0 0 0-18.400zm0 2.200a7 7 0 1 1 0 14 7 7 0 0 1 0-14zm-1.100 2.200v5.400l4 2.600 1.200-1.800-3-2V7.200z',
  send: 'M3 20V13.500l9-1.500-9-1.500V4l19 8z',
  undo: 'M9.500 4.500 3 11l6.500 6.500v-4.300c4.600 0 8 1.500 10.500 4.800-.8-5-3.800-9-10.500-9.500z',
  plus: 'M10.700 4h2.600v6.700H20v2.600h-6.700V20h-2.600v-6.700H4v-2.600h6.700z',
  minus: 'M4 10.700h16v2.600H4z',
  left: 'M15.500 4 17.300 5.800 11.100 12l6.200 6.200-1.800 1.800-8-8z',
  right: 'M8.500 4 6.700 5.800 12.900 12l-6.200 6.200 1.800 1.800 8-8z',
  person:
    'M12 3a4.500 4.500 0 1 1 0 9 4.500 4.500 0 0 1 0-9zM3.500 20.500c0-4 3.800-6.500 8.500-6.500s8.500 2.500 8.500 6.500z',
  settings:
    'M4 6h9.200a2.800 2.800 0 0 1 5.400 0H20v2h-1.400a2.800 2.800 0 0 1-5.400 0H4zm0 10h1.400a2.800 2.800 0 0 1 5.400 0H20v2h-9.200a2.800 2.800 0 0 1-5.400 0H4z',
  split: 'M11 2h2v4h-2zM11 8h2v8h-2zm0 10h2v4h-2zM8.500 8v8l-5-4zM15.500 8v8l5-4z',
  note: 'M5 3h14v12l-5 6H5zm3 4.500v2h8v-2zm0 4v2h8v-2z',
  print: 'M7 3h10v4H7zM4 8h16v9h-3v-3H7v3H4zm5 8h6v5H9z',
  search:
    'M10 3a7 7 0 0 1 5.600 11.200l5.300 5.300-1.800 1.800-5.300-5.300A7 7 0 1 1 10 3zm0 2.400a4.600 4.600 0 1 0 0 9.200 4.600 4.600 0 0 0 0-9.200z',
  offline:
    'M3.700 2.300 21.700 20.300l-1.600 1.600-3-3H7a5 5 0 0 1-.9-9.900l-4-4zM9.600 5.500A6.500 6.500 0 0 1 18.300 10a4.500 4.500 0 0 1 2.700 7z',
  several: 'M3 4h6v6H3zm8 2h10v2H11zM3 14h6v6H3zm8 2h10v2H11z',
} as const;

export type IconName = keyof typeof PATHS;

/** An icon beside text: never the only bearer of information. */
export function Icon({
  name,
  ...rest
}: { name: IconName } & JSX.IntrinsicElements['svg']): JSX.Element {
  return (
    <svg class="icon" viewBox="0 0 24 24" aria-hidden="true" focusable="false" {...rest}>
      <path d={PATHS[name]} fill-rule="evenodd" />
    </svg>
  );
}

export function StateBlock({ look }: { look: Look }): JSX.Element {
  return (
    <span class={`state-block ${look}`} aria-hidden="true">
      <Icon name={look} />
    </span>
  );
}
