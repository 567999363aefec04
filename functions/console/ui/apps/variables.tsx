import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useParams } from '@tanstack/react-router';
import { useId, useState } from 'react';
import type { VariablesView } from '../../../../runtime/contracts/api/variables.ts';
import { commandOf, placeFlags } from '../api/command.ts';
import { pathOf, request } from '../api/client.ts';
import { appQuery, variablesQuery, type Place } from '../api/queries.ts';
import { useMay } from '../api/role.ts';
import { Button } from '../parts/button.tsx';
import { Command, Empty } from '../parts/command.tsx';
import { Loaded } from '../parts/loaded.tsx';
import { ErrorNote, Note } from '../parts/note.tsx';
import { cellLook, Cells, rowLook } from '../parts/page.tsx';
import { appText } from '../text/apps.ts';
import { text } from '../text/common.ts';
import { appRoute } from './app.tsx';
import { changesOf, linesOf, readLines, type Change, type Variables } from './env-text.ts';
import { Secrets } from './secrets.tsx';

const words = appText.variables;

/** The variables and secrets of an app. */
export function VariablesPage() {
  const { app, ...place } = useParams({ from: appRoute });
  const mayChange = useMay(place.project, 'deployer');
  const [base, setBase] = useState<Variables>();
  return (
    <div className="flex flex-col gap-8">
      <section aria-labelledby="variables" className="flex flex-col gap-4">
        <h2 id="variables" className="text-lg font-semibold">
          {words.title}
        </h2>
        <Loaded query={useQuery(variablesQuery(place, app))}>
          {({ variables, pendingRestart }) => (
            <>
              {pendingRestart && <Note look="warn">{words.pending}</Note>}
              {base ? (
                <Editor place={place} app={app} base={base} close={() => setBase(undefined)} />
              ) : (
                <>
                  <VariableTable place={place} app={app} variables={variables} />
                  {mayChange && (
                    <div>
                      <Button onClick={() => setBase(variables)}>{words.edit}</Button>
                    </div>
                  )}
                </>
              )}
            </>
          )}
        </Loaded>
      </section>
      <Secrets place={place} app={app} />
    </div>
  );
}

function VariableTable({ place, app, variables }: { place: Place; app: string; variables: Variables }) {
  const entries = Object.entries(variables);
  if (entries.length === 0) {
    const set = commandOf('app', 'env', 'set', app, 'LOG_LEVEL=info', ...placeFlags(place));
    return <Empty title={words.empty} hint={words.emptyHint} command={set} />;
  }
  return (
    <>
      <table className="w-full text-sm">
        <Cells heads={[{ title: words.name }, { title: words.value }]} />
        <tbody>
          {entries.map(([name, value]) => (
            <tr key={name} className={rowLook}>
              <th scope="row" className={`${cellLook} text-left font-mono font-medium`}>
                {name}
              </th>
              <td className={`${cellLook} font-mono whitespace-pre-wrap`}>{value}</td>
            </tr>
          ))}
        </tbody>
      </table>
      <Command command={commandOf('app', 'env', 'list', app, ...placeFlags(place))} />
    </>
  );
}

/**
 * Edits all variables as the lines of a `.env` file, and shows the difference before it is saved. Only what differs from
 * `base` is sent, so that what others change meanwhile stays.
 */
function Editor({ place, app, base, close }: { place: Place; app: string; base: Variables; close: () => void }) {
  const client = useQueryClient();
  const id = useId();
  const { text: lines, omitted } = linesOf(base);
  const [draft, setDraft] = useState(lines);
  const { variables, faults } = readLines(draft);
  const editable = Object.fromEntries(Object.entries(base).filter(([name]) => !omitted.includes(name)));
  const changes = changesOf(editable, variables);
  const save = useMutation({
    mutationFn: () =>
      request<VariablesView>(pathOf('projects', place.project, 'apps', app, 'env'), {
        method: 'PATCH',
        query: { environment: place.environment },
        body: Object.fromEntries(changes.map(({ name, after }) => [name, after ?? null])),
      }),
    onSuccess: async (view) => {
      client.setQueryData(variablesQuery(place, app).queryKey, view);
      close();
      await client.invalidateQueries({ queryKey: appQuery(place, app).queryKey });
    },
  });
  return (
    <form
      className="flex flex-col gap-3"
      onSubmit={(event) => {
        event.preventDefault();
        save.mutate();
      }}
    >
      <div>
        <label htmlFor={id} className="mb-1 block text-sm font-medium">
          {words.editor}
        </label>
        <textarea
          id={id}
          value={draft}
          onChange={(event) => setDraft(event.target.value)}
          rows={Math.min(24, Math.max(8, draft.split('\n').length + 1))}
          spellCheck={false}
          autoComplete="off"
          className="w-full rounded-md border border-zinc-400 bg-white p-3 font-mono text-sm dark:border-zinc-600 dark:bg-zinc-900"
        />
      </div>
      {omitted.length > 0 && <Note look="warn">{words.omitted(omitted.join(', '))}</Note>}
      {faults.length > 0 && <Note look="bad">{words.faults(faults.join(', '))}</Note>}
      <ChangeList changes={changes} />
      {save.error && <ErrorNote error={save.error} />}
      <div className="flex gap-2">
        <Button type="submit" look="primary" disabled={changes.length === 0 || faults.length > 0 || save.isPending}>
          {words.save(changes.length)}
        </Button>
        <Button onClick={close}>{text.cancel}</Button>
      </div>
      <Command command={commandOf('app', 'env', 'push', app, ...placeFlags(place))} />
    </form>
  );
}

function ChangeList({ changes }: { changes: readonly Change[] }) {
  if (changes.length === 0) return <p className="text-sm">{words.unchanged}</p>;
  return (
    <ul aria-label={words.changes} className="flex flex-col gap-1 font-mono text-sm">
      {changes.map(({ name, before, after }) => (
        <li key={name} className="whitespace-pre-wrap">
          {before !== undefined && <del className="block">{`- ${name}=${before}`}</del>}
          {after !== undefined && <ins className="block no-underline">{`+ ${name}=${after}`}</ins>}
        </li>
      ))}
    </ul>
  );
}
