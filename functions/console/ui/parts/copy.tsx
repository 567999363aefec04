import { useState } from 'react';
import { text } from '../text/common.ts';
import { Button } from './button.tsx';

/** A text to copy. @param label the name of the button */
export function CopyText({ value, label = text.copy }: { value: string; label?: string }) {
  const [copied, setCopied] = useState(false);
  const copy = async () => {
    // Missing where the page came over plain HTTP from another machine: the text can still be selected.
    if (!('clipboard' in navigator)) return;
    await navigator.clipboard.writeText(value);
    setCopied(true);
  };
  return (
    <div className="flex items-center gap-2 rounded-md bg-zinc-100 py-1 pr-1 pl-3 text-xs dark:bg-zinc-900">
      <code className="min-w-0 flex-1 wrap-anywhere whitespace-pre-wrap">{value}</code>
      <Button aria-label={label} onClick={() => void copy()} onBlur={() => setCopied(false)}>
        {copied ? text.copied : text.copy}
      </Button>
    </div>
  );
}
