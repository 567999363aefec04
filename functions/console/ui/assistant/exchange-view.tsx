import { useMemo } from 'react';
import { Note } from '../parts/note.tsx';
import { text } from '../text/common.ts';
import { assistantText as words } from '../text/assistant.ts';
import { blocksOf } from './answer-text.ts';
import { Answer } from './answer.tsx';
import type { Exchange } from './exchange.ts';
import { FormOffer } from './form-offer.tsx';
import { offerIn } from './offer.ts';
import { isForm, readPrepared } from './prepared-request.ts';
import { PreparedCard } from './prepared.tsx';
import { sourcesOf } from './source-path.ts';
import { Sources } from './sources.tsx';

interface ExchangeProps {
  project: string;
  exchange: Exchange;
  /** Whether the answer is written now; a stored one can have been left without its end. */
  isAnswering: boolean;
  /** Where the user is, if it is in the project of the conversation. */
  place: { environment?: string | undefined; function?: string | undefined };
  followed: () => void;
}

/** A question with its answer, what it rests on, and what the assistant has prepared. */
export function ExchangeView({ project, exchange, isAnswering, place, followed }: ExchangeProps) {
  const { question, files, answer, prepared, status, error, cut } = exchange;
  const blocks = useMemo(() => blocksOf(answer), [answer]);
  const hasForm = prepared.some((request) => {
    const operation = readPrepared(request, project)?.operation;
    return operation && isForm(operation);
  });
  // Half of a function is nothing to put into a form.
  const offered = status === 'answered' && !hasForm ? offerIn(blocks) : undefined;
  return (
    <article aria-label={words.exchange(question.slice(0, 80))} className="flex flex-col gap-3">
      <div className="rounded-md bg-zinc-100 px-3 py-2 dark:bg-zinc-900">
        <p className="whitespace-pre-wrap">{question}</p>
        {files.length > 0 && (
          <p className="mt-1 text-xs">{files.map(({ name, bytes }) => `${name} (${words.bytes(bytes)})`).join(', ')}</p>
        )}
      </div>
      <Calls exchange={exchange} />
      <Answer blocks={blocks} />
      {status === 'answering' && <p role="status">{isAnswering ? words.answering : words.incomplete}</p>}
      {status === 'cancelled' && <p>{words.cancelled}</p>}
      {cut && <p>{words.cut}</p>}
      {error && (
        <Note look="bad">
          <p>{error.error}</p>
          <p className="mt-1 text-xs">
            {text.errors.code} <code>{error.code}</code>
          </p>
        </Note>
      )}
      <Sources project={project} sources={sourcesOf(exchange)} followed={followed} />
      {prepared.map((request, index) => (
        <PreparedCard key={index} project={project} prepared={request} followed={followed} />
      ))}
      {offered && <FormOffer place={{ project, ...place }} offered={offered} followed={followed} />}
    </article>
  );
}

/** What the assistant has looked at, with the user's rights. */
function Calls({ exchange: { tools } }: { exchange: Exchange }) {
  if (tools.length === 0) return null;
  return (
    <details className="text-xs">
      <summary>{words.calls(tools.length)}</summary>
      <ul className="mt-1 font-mono">
        {tools.map(({ tool, names, refused }, index) => (
          <li key={index}>
            {[tool, ...Object.entries(names).map(([name, value]) => `${name}=${value}`)].join(' ')}
            {refused && ` (${words.refused})`}
          </li>
        ))}
      </ul>
    </details>
  );
}
