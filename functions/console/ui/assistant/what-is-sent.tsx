import { assistantText } from '../text/assistant.ts';
import type { AssistantView } from './queries.ts';

const words = assistantText.sent;

/** To whom questions go, and with what: open before the first question, and a click away afterwards. */
export function WhatIsSent({ view, isOpen }: { view: AssistantView; isOpen: boolean }) {
  const { model = '', host = words.privateHost, level = '', sends } = view;
  return (
    // With another key, it opens and closes again with the conversation; a click in between stays.
    <details key={String(isOpen)} open={isOpen} className="rounded-md border border-zinc-300 p-3 dark:border-zinc-700">
      <summary className="font-medium">{words.title}</summary>
      <div className="mt-2 flex flex-col gap-2">
        <p>{words.to(model, host)}</p>
        <p>
          {words.level}: <code>{level}</code>. {words.gets}
        </p>
        <ul className="list-disc pl-6">
          {sends.map((each) => (
            <li key={each}>{each}</li>
          ))}
        </ul>
        <p>{words.masked}</p>
        <p>{words.kept}</p>
        <p>{words.changesNothing}</p>
      </div>
    </details>
  );
}
