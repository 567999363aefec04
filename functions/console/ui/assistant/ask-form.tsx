import { useEffect, useId, useRef, useState } from 'react';
import { Button, buttonLook } from '../parts/button.tsx';
import { ErrorNote } from '../parts/note.tsx';
import { assistantText as words } from '../text/assistant.ts';
import { attach, type AttachedFile } from './files.ts';
import type { Suggestion } from './page.ts';
import type { AssistantView } from './queries.ts';
import type { QuestionState } from './use-question.ts';

interface AskFormProps {
  question: QuestionState;
  limits: AssistantView['limits'];
  suggestions: readonly Suggestion[];
  /** The page in words; empty when there is nothing to send of it. */
  page: string;
  isAnswering: boolean;
  /** @returns whether it was accepted */
  ask: (question: { text: string; files: readonly AttachedFile[]; sendsPage: boolean }) => Promise<boolean>;
  stop: () => void;
  /** Changes each time that the panel opens, and the field should have the focus. */
  focus: number;
}

/** The field for a question, its files, and the questions that fit the page. */
export function AskForm({ question, limits, suggestions, page, isAnswering, ask, stop, focus }: AskFormProps) {
  const { text, setText, files, setFiles, sendsPage, setSendsPage } = question;
  const [error, setError] = useState<unknown>();
  const field = useRef<HTMLTextAreaElement>(null);
  const id = useId();
  useEffect(() => field.current?.focus(), [focus]);

  const choose = async (chosen: readonly File[]) => {
    setError(undefined);
    try {
      setFiles(await attach(files, chosen, limits));
    } catch (cause) {
      setError(cause);
    }
  };
  const send = async () => {
    if (isAnswering || text.trim() === '') return;
    setError(undefined);
    setText('');
    setFiles([]);
    if (await ask({ text, files, sendsPage: sendsPage && page !== '' })) return;
    // What was refused can be corrected, unless the user writes something else already.
    setText((written) => (written === '' ? text : written));
    setFiles((attached) => (attached.length === 0 ? files : attached));
  };
  const onKeyDown = (event: React.KeyboardEvent) => {
    if (event.key !== 'Enter' || event.shiftKey || event.nativeEvent.isComposing) return;
    event.preventDefault();
    void send();
  };
  return (
    <form
      className="flex flex-col gap-2"
      onSubmit={(event) => {
        event.preventDefault();
        void send();
      }}
    >
      {suggestions.length > 0 && (
        <ul aria-label={words.suggestions.title} className="flex flex-wrap gap-2">
          {suggestions.map((suggestion) => (
            <li key={suggestion.label}>
              <Button
                onClick={() => {
                  setText(suggestion.text);
                  field.current?.focus();
                }}
              >
                {suggestion.label}
              </Button>
            </li>
          ))}
        </ul>
      )}
      <div>
        <label htmlFor={id} className="mb-1 block font-medium">
          {words.question}
        </label>
        <textarea
          ref={field}
          id={id}
          value={text}
          onChange={(event) => setText(event.target.value)}
          onKeyDown={onKeyDown}
          rows={Math.min(Math.max(text.split('\n').length, 2), 8)}
          maxLength={limits.questionLength}
          aria-describedby={`${id}-hint`}
          className="w-full rounded-md border border-zinc-400 bg-white px-3 py-2 dark:border-zinc-600 dark:bg-zinc-900"
        />
        <p id={`${id}-hint`} className="text-xs text-zinc-600 dark:text-zinc-400">
          {words.questionHint}
        </p>
      </div>
      {page !== '' && (
        <label className="flex gap-2 text-xs">
          <input type="checkbox" checked={sendsPage} onChange={(event) => setSendsPage(event.target.checked)} />
          {words.page.send(page)}
        </label>
      )}
      <Files files={files} remove={(at) => setFiles(files.filter((_, index) => index !== at))} />
      {error !== undefined && <ErrorNote error={error} />}
      <div className="flex flex-wrap items-center gap-2">
        {isAnswering ? (
          <Button onClick={stop}>{words.stop}</Button>
        ) : (
          <Button type="submit" look="primary" disabled={text.trim() === ''}>
            {words.send}
          </Button>
        )}
        <label className={`${buttonLook()} cursor-pointer focus-within:outline-2`}>
          {words.attach}
          <input
            type="file"
            multiple
            className="sr-only"
            aria-describedby={`${id}-files`}
            onChange={({ target }) => {
              const chosen = [...(target.files ?? [])];
              // The same file can be chosen again after it was changed.
              target.value = '';
              void choose(chosen);
            }}
          />
        </label>
        <span id={`${id}-files`} className="text-xs text-zinc-600 dark:text-zinc-400">
          {words.fileLimits(limits.fileBytes / 1024, limits.messageBytes / 1024 / 1024)}
        </span>
      </div>
    </form>
  );
}

function Files({ files, remove }: { files: readonly AttachedFile[]; remove: (at: number) => void }) {
  if (files.length === 0) return null;
  return (
    <ul aria-label={words.files} className="flex flex-col gap-1">
      {files.map(({ name, bytes }, at) => (
        <li key={`${at} ${name}`} className="flex items-center gap-2">
          <span className="min-w-0 flex-1 wrap-anywhere">
            {name} ({words.bytes(bytes)})
          </span>
          <Button aria-label={words.remove(name)} onClick={() => remove(at)}>
            ×
          </Button>
        </li>
      ))}
    </ul>
  );
}
