import { useState } from 'react';
import { text } from '../text/common.ts';
import { Button } from './button.tsx';

/** A command of `svc` that does the same as the page, to copy. */
export function Command({ command }: { command: string }) {
  const [copied, setCopied] = useState(false);
  const copy = async () => {
    // Missing where the page came over plain HTTP from another machine: the text can still be selected.
    if (!('clipboard' in navigator)) return;
    await navigator.clipboard.writeText(command);
    setCopied(true);
  };
  return (
    <div className="flex items-center gap-2 rounded-md bg-zinc-100 py-1 pr-1 pl-3 text-xs dark:bg-zinc-900">
      <code className="min-w-0 flex-1">{command}</code>
      <Button aria-label={text.copyCommand} onClick={() => void copy()} onBlur={() => setCopied(false)}>
        {copied ? text.copied : text.copy}
      </Button>
    </div>
  );
}

/** What to do where a list is empty. */
export function Empty({ title, hint, command }: { title: string; hint: string; command?: string }) {
  return (
    <div className="rounded-lg border border-dashed border-zinc-300 p-6 dark:border-zinc-700">
      <p className="font-medium">{title}</p>
      <p className="mt-1 mb-3 text-sm text-zinc-600 dark:text-zinc-400">{hint}</p>
      {command !== undefined && <Command command={command} />}
    </div>
  );
}
