import { useMutation, useQuery } from '@tanstack/react-query';
import { useEffect, useRef, useState } from 'react';
import type { InvocationAnswer } from '../../../../runtime/contracts/api/invocations.ts';
import { pathOf, request } from '../api/client.ts';
import { commandOf, placeFlags } from '../api/command.ts';
import { useMay } from '../api/role.ts';
import { Area } from '../parts/area.tsx';
import { Badge } from '../parts/badge.tsx';
import { Button } from '../parts/button.tsx';
import { Select } from '../parts/choice.tsx';
import { Command } from '../parts/command.tsx';
import { Field } from '../parts/field.tsx';
import { ErrorNote, Note } from '../parts/note.tsx';
import { text } from '../text/common.ts';
import { functionText } from '../text/functions.ts';
import { viewQuery } from '../workloads/queries.ts';
import { pathBelow, type Workload } from '../workloads/workload.ts';
import { useFunction } from './function.tsx';
import {
  faultyLine,
  headerLines,
  invocationOf,
  newInvocation,
  sentPath,
  shownBody,
  shownMax,
  type InvocationDraft,
} from './invocation.ts';

const words = functionText.invoke;
const methods = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS'].map((value) => ({ value }));

/** What was written last, for a user who returns to the page. It is nowhere else, because secrets can be in it. */
let last: { key: string; draft: InvocationDraft } | undefined;

/** Sends a request to a function through the API, and shows the answer. */
export function FunctionInvoke() {
  const workload = useFunction();
  const { place, name } = workload;
  const { data: view } = useQuery(viewQuery(workload));
  const maySend = useMay(place.project, 'deployer');
  const key = pathOf(place.project, place.environment, name);
  const [draft, setDraft] = useState(last?.key === key ? last.draft : newInvocation);
  const invocation = useInvocation(workload);
  if (view?.url === undefined) return <p className="text-sm">{words.noUrl}</p>;
  const set = (field: keyof InvocationDraft, value: string) => {
    const next = { ...draft, [field]: value };
    last = { key, draft: next };
    setDraft(next);
  };
  const fault = faultyLine(draft);
  const command = commandOf(
    ...['function', 'invoke', name, '--method', draft.method, '--path', sentPath(draft)],
    ...headerLines(draft).flatMap((line) => ['--header', line]),
    // In one word, because a body can begin with a dash. `@` would stand for a file of the machine.
    ...(draft.body === '' ? [] : [`--data=${draft.body}`]),
    ...placeFlags(place),
  );
  return (
    <div className="flex max-w-3xl flex-col gap-4">
      <form
        className="flex flex-col gap-4"
        onSubmit={(event) => {
          event.preventDefault();
          if (fault === undefined) invocation.send(draft);
        }}
      >
        <p className="text-sm">
          {words.hint} {view.gate !== 'off' && words.gate}
        </p>
        <Select
          label={words.method}
          value={draft.method}
          onChange={(event) => set('method', event.target.value)}
          options={methods}
        />
        <Field
          label={words.path}
          value={draft.path}
          onChange={(event) => set('path', event.target.value)}
          spellCheck={false}
          autoComplete="off"
        />
        <Area
          label={words.headers}
          value={draft.headers}
          onChange={(event) => set('headers', event.target.value)}
          rows={2}
          aria-invalid={fault !== undefined}
        />
        {fault !== undefined && <Note look="warn">{words.faultyLine(fault)}</Note>}
        <Area label={words.body} value={draft.body} onChange={(event) => set('body', event.target.value)} />
        {!maySend && <p className="text-sm">{words.viewer}</p>}
        {maySend && (
          <span className="flex gap-2">
            <Button type="submit" look="primary" disabled={invocation.isPending || fault !== undefined}>
              {invocation.isPending ? words.sending : words.send}
            </Button>
            {invocation.isPending && <Button onClick={() => invocation.cancel()}>{text.cancel}</Button>}
          </span>
        )}
      </form>
      {invocation.error !== null && <ErrorNote error={invocation.error} />}
      {invocation.answer && <Answer answer={invocation.answer} />}
      <Command command={command} />
    </div>
  );
}

/** One request at a time, which ends with the page. Its answer is kept as long as the page shows it. */
function useInvocation({ place, ...workload }: Workload) {
  const current = useRef<AbortController>(undefined);
  const mutation = useMutation({
    mutationFn: ({ draft, signal }: { draft: InvocationDraft; signal: AbortSignal }) =>
      request<InvocationAnswer>(pathOf('projects', place.project, ...pathBelow({ place, ...workload }, 'invoke')), {
        method: 'POST',
        query: { environment: place.environment },
        body: invocationOf(draft),
        signal,
      }),
    gcTime: 0,
  });
  useEffect(() => () => current.current?.abort(), []);
  return {
    send(draft: InvocationDraft) {
      current.current = new AbortController();
      mutation.mutate({ draft, signal: current.current.signal });
    },
    cancel() {
      current.current?.abort();
      mutation.reset();
    },
    isPending: mutation.isPending,
    error: mutation.error,
    answer: mutation.data,
  };
}

function toneOf(status: number) {
  if (status >= 500) return 'bad';
  if (status >= 400) return 'warn';
  return status >= 300 ? 'busy' : 'good';
}

function Answer({ answer }: { answer: InvocationAnswer }) {
  const { status, headers, body, bodyEncoding, bodyEnd, coldStart, durationMs } = answer;
  const shown = shownBody(answer);
  return (
    <section aria-labelledby="answer" className="flex flex-col gap-3">
      <h2 id="answer" className="text-lg font-semibold">
        {words.answer}
      </h2>
      <p role="status" className="flex flex-wrap items-center gap-2 text-sm">
        <Badge tone={toneOf(status)}>{status}</Badge>
        <span>{words.duration(durationMs)}</span>
        {coldStart && <Badge tone="busy">{words.coldStart}</Badge>}
      </p>
      {bodyEnd !== 'complete' && <Note look="warn">{words.ends[bodyEnd]}</Note>}
      {bodyEncoding === 'base64' && <p className="text-sm">{words.binary}</p>}
      {body.length > shownMax && <p className="text-sm">{words.partial(shownMax)}</p>}
      {shown === '' ? (
        <p className="text-sm">{words.noBody}</p>
      ) : (
        <pre
          aria-label={words.answerBody}
          role="region"
          tabIndex={0}
          className="max-h-[32rem] overflow-auto rounded-md bg-zinc-100 p-3 text-xs whitespace-pre-wrap dark:bg-zinc-900"
        >
          {shown}
        </pre>
      )}
      <details className="text-sm">
        <summary>{words.answerHeaders(headers.length)}</summary>
        <dl className="mt-2 grid grid-cols-1 gap-x-4 gap-y-1 font-mono text-xs sm:grid-cols-[max-content_1fr]">
          {headers.map(({ name, value }, index) => (
            <div key={index} className="contents">
              <dt className="text-zinc-600 dark:text-zinc-400">{name}</dt>
              <dd className="min-w-0">{value}</dd>
            </div>
          ))}
        </dl>
      </details>
    </section>
  );
}
