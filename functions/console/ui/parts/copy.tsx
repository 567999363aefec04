import { useRef, useState } from 'react';
import { text } from '../text/common.ts';
import { Button } from './button.tsx';

/** A text to copy. @param label the name of the button */
export function CopyText({ value, label = text.copy }: { value: string; label?: string }) {
  const [state, setState] = useState<'copy' | 'copied' | 'selected'>('copy');
  const code = useRef<HTMLElement>(null);
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(value);
      setState('copied');
    } catch {
      // There is no clipboard where the page came over plain HTTP from another machine, and a browser can refuse it.
      if (code.current) getSelection()?.selectAllChildren(code.current);
      setState('selected');
    }
  };
  return (
    <div className="flex items-center gap-2 rounded-md bg-zinc-100 py-1 pr-1 pl-3 text-xs dark:bg-zinc-900">
      <code ref={code} className="min-w-0 flex-1 wrap-anywhere whitespace-pre-wrap">
        {value}
      </code>
      <Button aria-label={label} onClick={() => void copy()} onBlur={() => setState('copy')}>
        {text.copyStates[state]}
      </Button>
    </div>
  );
}
