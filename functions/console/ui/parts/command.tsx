import { text } from '../text/common.ts';
import { CopyText } from './copy.tsx';

/** A command of `svc` that does the same as the page, to copy. */
export function Command({ command }: { command: string }) {
  return <CopyText value={command} label={text.copyCommand} />;
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
