import { useEffect, useId, useRef } from 'react';
import { useBack } from './back.ts';

/**
 * A modal dialog of the browser, which keeps the focus inside, closes with Escape and with Back, and returns the focus.
 * Mounted only while it is open.
 * @param close absent when they must not close it, because what it shows is shown only once
 */
export function Dialog({ title, close, children }: { title: string; close?: () => void; children: React.ReactNode }) {
  const element = useRef<HTMLDialogElement>(null);
  const id = useId();
  useBack(close);
  useEffect(() => {
    const dialog = element.current;
    const before = document.activeElement;
    dialog?.showModal();
    return () => {
      dialog?.close();
      if (before instanceof HTMLElement) before.focus();
    };
  }, []);
  return (
    <dialog
      ref={element}
      aria-labelledby={id}
      onCancel={(event) => {
        event.preventDefault();
        close?.();
      }}
      // A second Escape would close it in spite of `onCancel`.
      {...(!close && { closedby: 'none' })}
      className="m-auto w-full max-w-lg rounded-lg bg-white p-5 text-zinc-900 shadow-xl backdrop:bg-black/50 dark:bg-zinc-900 dark:text-zinc-100"
    >
      <h2 id={id} className="mb-3 text-lg font-semibold">
        {title}
      </h2>
      {children}
    </dialog>
  );
}
