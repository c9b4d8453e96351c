import type { ComponentChildren, JSX } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';
import { closeSheet } from '../state/actions.js';
import { strings, toast } from '../state/store.js';
import { Button } from './controls.js';

/** A modal sheet: the browser's dialog element keeps the focus inside and returns it. */
export function Sheet(props: {
  name: string;
  title: string;
  size?: 'large' | 'small';
  children: ComponentChildren;
}): JSX.Element {
  const dialog = useRef<HTMLDialogElement>(null);
  // before the next event: a key pressed before the dialog is open would go to the page below
  useLayoutEffect(() => {
    const element = dialog.current;
    element?.showModal();
    // the dialog returns the focus only while it is in the document
    return () => element?.close();
  }, []);
  return (
    <dialog
      ref={dialog}
      class={`sheet ${props.size ?? 'small'}`}
      data-sheet={props.name}
      aria-labelledby="sheet-title"
      onClose={({ currentTarget }) => {
        // once removed it must not close a sheet opened since
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

/** Inside the sheet while one is open, which covers the rest and hides it from screen readers. */
export function Toast(): JSX.Element {
  return (
    <p class={`toast ${toast.value?.alert ? 'alert' : ''}`} role="status">
      {toast.value?.text}
    </p>
  );
}
