import type { ComponentChildren, JSX } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';
import { strings, toast } from '../state/store.js';
import { Button } from './controls.js';

/** A modal sheet: the browser's own dialog keeps the focus inside and gives it back. */
export function Sheet(props: {
  name: string;
  title: string;
  size?: 'large' | 'small';
  onClose: () => void;
  children: ComponentChildren;
}): JSX.Element {
  const dialog = useRef<HTMLDialogElement>(null);
  // before anything else happens: a key pressed while it is there but not open would go to what lies below
  useLayoutEffect(() => {
    dialog.current?.showModal();
  }, []);
  return (
    <dialog
      ref={dialog}
      class={`sheet ${props.size ?? 'small'}`}
      data-sheet={props.name}
      aria-labelledby="sheet-title"
      onClose={props.onClose}
      onClick={(event) => {
        if (event.target === event.currentTarget) event.currentTarget.close();
      }}
    >
      <div class="sheet-body column">
        <header class="sheet-head row">
          <h2 id="sheet-title" tabIndex={-1} autofocus>
            {props.title}
          </h2>
          <Button kind="quiet" icon="cross" onClick={() => dialog.current?.close()}>
            {strings.value.close}
          </Button>
        </header>
        {props.children}
      </div>
      <Toast />
    </dialog>
  );
}

/** In the sheet while one is open: it covers all else, and keeps it from being read out. */
export function Toast(): JSX.Element {
  return (
    <p class={`toast ${toast.value?.alert ? 'alert' : ''}`} role="status">
      {toast.value?.text}
    </p>
  );
}
