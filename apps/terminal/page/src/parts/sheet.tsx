import type { ComponentChildren, JSX } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';
import { closeSheet } from '../state/actions.js';
import { strings, toast } from '../state/store.js';
import { Button } from './controls.js';

/** A modal sheet: the browser's own dialog keeps the focus inside and gives it back. */
export function Sheet(props: {
  name: string;
  title: string;
  size?: 'large' | 'small';
  children: ComponentChildren;
}): JSX.Element {
  const dialog = useRef<HTMLDialogElement>(null);
  // before anything else happens: a key pressed while it is there but not open would go to what lies below
  useLayoutEffect(() => {
    const element = dialog.current;
    element?.showModal();
    // it gives the focus back while it is still there
    return () => element?.close();
  }, []);
  return (
    <dialog
      ref={dialog}
      class={`sheet ${props.size ?? 'small'}`}
      data-sheet={props.name}
      aria-labelledby="sheet-title"
      onClose={({ currentTarget }) => {
        // not when it is gone already: another one may be open
        if (currentTarget.isConnected) closeSheet();
      }}
      onClick={({ target, currentTarget }) => {
        if (target === currentTarget) closeSheet();
      }}
    >
      <div class="sheet-body column">
        <header class="sheet-head row spread">
          <h2 id="sheet-title" tabIndex={-1} autofocus>
            {props.title}
          </h2>
          <Button kind="quiet" icon="cross" onClick={closeSheet}>
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
