import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useId, useState } from 'react';
import type { VariablesView } from '../../../../runtime/contracts/api/variables.ts';
import { useChange } from '../api/change.ts';
import { commandOf, placeFlags } from '../api/command.ts';
import { useMay } from '../api/role.ts';
import { Button } from '../parts/button.tsx';
import { ChangedMeanwhile } from '../parts/changed-meanwhile.tsx';
import { Command, Empty } from '../parts/command.tsx';
import { Loaded } from '../parts/loaded.tsx';
import { ErrorNote, Note } from '../parts/note.tsx';
import { cellLook, Cells, rowLook } from '../parts/page.tsx';
import { text } from '../text/common.ts';
import { workloadText } from '../text/workloads.ts';
import { Bindings } from './bindings.tsx';
import { changesOf, linesOf, readLines, type Change, type Variables } from './env-text.ts';
import { variablesQuery } from './queries.ts';
import { Secrets } from './secrets.tsx';
import { pathBelow, type Workload } from './workload.ts';

const words = workloadText.variables;

/** The command of `svc` about the variables of a workload. */
function envCommand({ place, kind, name }: Workload, action: string, ...more: string[]): string {
  return commandOf(kind, 'env', action, name, ...more, ...placeFlags(place));
}

/** The variables and secrets of a workload, and the bindings that add variables. */
export function WorkloadVariables(workload: Workload) {
  const { place, kind } = workload;
  const mayChange = useMay(place.project, 'deployer');
  const [base, setBase] = useState<Variables>();
  return (
    <div className="flex flex-col gap-8">
      <section aria-labelledby="variables" className="flex flex-col gap-4">
        <h2 id="variables" className="text-lg font-semibold">
          {words.title}
        </h2>
        <Loaded query={useQuery(variablesQuery(workload))}>
          {({ variables, pendingRestart }) => (
            <>
              {pendingRestart && <Note look="warn">{words.pending[kind]}</Note>}
              {base ? (
                <Editor workload={workload} base={base} now={variables} close={() => setBase(undefined)} />
              ) : (
                <>
                  <VariableTable workload={workload} variables={variables} />
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
      <Secrets {...workload} />
      <Bindings {...workload} />
    </div>
  );
}

function VariableTable({ workload, variables }: { workload: Workload; variables: Variables }) {
  const entries = Object.entries(variables);
  if (entries.length === 0) {
    const set = envCommand(workload, 'set', 'LOG_LEVEL=info');
    return <Empty title={words.empty(workload.kind)} hint={words.emptyHint} command={set} />;
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
      <Command command={envCommand(workload, 'list')} />
    </>
  );
}

interface EditorProps {
  workload: Workload;
  /** The variables that the editor showed first. */
  base: Variables;
  now: Variables;
  close: () => void;
}

/**
 * Edits all variables as the lines of a `.env` file, and shows the difference before it is saved. Only what differs from
 * `base` is sent, so that what others change meanwhile stays.
 */
function Editor({ workload, base, now, close }: EditorProps) {
  const client = useQueryClient();
  const id = useId();
  const { text: lines, omitted } = linesOf(base);
  const [draft, setDraft] = useState(lines);
  const { variables, faults } = readLines(draft);
  const editable = Object.fromEntries(Object.entries(base).filter(([name]) => !omitted.includes(name)));
  const changes = changesOf(editable, variables);
  const save = useChange<VariablesView>(workload.place, (view) => {
    client.setQueryData(variablesQuery(workload).queryKey, view);
    close();
  });
  const submit = () =>
    save.mutate({
      path: pathBelow(workload, 'env'),
      method: 'PATCH',
      body: Object.fromEntries(changes.map(({ name, after }) => [name, after ?? null])),
    });
  return (
    <form
      className="flex flex-col gap-3"
      onSubmit={(event) => {
        event.preventDefault();
        submit();
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
      <ChangedMeanwhile
        differences={changesOf(base, now).map(({ name, before = '', after = '' }) => ({ title: name, before, after }))}
      />
      {save.error && <ErrorNote error={save.error} />}
      <div className="flex gap-2">
        <Button type="submit" look="primary" disabled={changes.length === 0 || faults.length > 0 || save.isPending}>
          {words.save(changes.length)}
        </Button>
        <Button onClick={close}>{text.cancel}</Button>
      </div>
      <Command command={envCommand(workload, 'push')} />
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
