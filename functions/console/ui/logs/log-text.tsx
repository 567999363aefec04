import { useMemo } from 'react';
import { plainLines } from './ansi.ts';

/** A log that is shown as a whole, as a terminal shows it: without escape sequences, and without what was written over. */
export function LogText({ label, text, empty }: { label: string; text: string; empty: string }) {
  const shown = useMemo(() => plainLines(text), [text]);
  return (
    <pre
      tabIndex={0}
      role="region"
      aria-label={label}
      className="max-h-96 overflow-auto rounded-md bg-zinc-100 p-3 text-xs whitespace-pre-wrap dark:bg-zinc-900"
    >
      {text === '' ? empty : shown}
    </pre>
  );
}
