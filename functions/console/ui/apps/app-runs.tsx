import { useNavigate, useParams, useSearch } from '@tanstack/react-router';
import { useState } from 'react';
import type { AnyRunView } from '../../../../runtime/contracts/api/runs.ts';
import { useChange } from '../api/change.ts';
import { commandOf, placeFlags } from '../api/command.ts';
import { useMay } from '../api/role.ts';
import { Area } from '../parts/area.tsx';
import { Button } from '../parts/button.tsx';
import { FormDialog } from '../parts/form-dialog.tsx';
import { Note } from '../parts/note.tsx';
import { appText } from '../text/apps.ts';
import { workloadText } from '../text/workloads.ts';
import { commandWords } from '../workloads/command-lines.ts';
import { isEnded, Runs } from '../workloads/runs.tsx';
import type { Workload } from '../workloads/workload.ts';
import { appRoute } from './app.tsx';

const words = appText.runs;

/** The one-off runs of an app with their logs; starts and stops them. */
export function AppRuns() {
  const { app: name, ...place } = useParams({ from: appRoute });
  const { run: selected } = useSearch({ from: `${appRoute}/runs` });
  const navigate = useNavigate();
  const mayRun = useMay(place.project, 'deployer');
  const [starts, setStarts] = useState(false);
  const [started, setStarted] = useState<string>();
  const [stopped, setStopped] = useState<AnyRunView>();
  const workload = { place, kind: 'app', name } as const;
  const select = (run: string | undefined) => void navigate({ to: '.', search: run === undefined ? {} : { run } });
  return (
    <div className="flex flex-col gap-6">
      {mayRun && (
        <div className="flex flex-col items-start gap-2">
          <Button look="primary" onClick={() => setStarts(true)}>
            {words.start}
          </Button>
          <p className="text-sm text-zinc-600 dark:text-zinc-400">{words.startWhat}</p>
          {started !== undefined && <Note look="good">{words.started(started)}</Note>}
        </div>
      )}
      <Runs
        workload={workload}
        selected={selected}
        select={select}
        empty={{
          title: words.empty,
          hint: words.emptyHint,
          command: commandOf('app', 'run', name, ...placeFlags(place), '--', 'npm', 'run', 'migrate'),
        }}
        {...(mayRun && { stop: setStopped })}
      />
      {starts && (
        <StartDialog
          workload={workload}
          close={() => setStarts(false)}
          done={(run) => {
            setStarted(run);
            select(run);
          }}
        />
      )}
      {stopped && (
        <StopDialog
          workload={workload}
          run={stopped}
          close={() => setStopped(undefined)}
          done={() => {
            setStarted(undefined);
            if (selected === stopped.name) select(undefined);
          }}
        />
      )}
    </div>
  );
}

interface DialogProps<Result> {
  workload: Workload;
  close: () => void;
  done: (result: Result) => void;
}

/** Runs a command once. */
function StartDialog({ workload: { place, name }, close, done }: DialogProps<string>) {
  const [typed, setTyped] = useState('');
  const command = commandWords(typed);
  const start = useChange<{ id: string }>(place, ({ id }) => {
    close();
    done(id);
  });
  const shown = command.length === 0 ? ['npm', 'run', 'migrate'] : command;
  return (
    <FormDialog
      title={words.start}
      close={close}
      action={words.start}
      disabled={command.length === 0}
      command={commandOf('app', 'run', name, ...placeFlags(place), '--', ...shown)}
      request={start}
      submit={() => start.mutate({ path: ['apps', name, 'runs'], method: 'POST', body: { command } })}
    >
      <p>{words.startWhat}</p>
      <Area label={words.command} value={typed} onChange={(event) => setTyped(event.target.value)} required autoFocus />
      <p>{words.commandHint}</p>
    </FormDialog>
  );
}

/** Stops a run, if it has not ended, and deletes it. */
function StopDialog({ workload: { place, name }, run, close, done }: DialogProps<undefined> & { run: AnyRunView }) {
  const { stop, stopName, delete: remove, deleteName } = workloadText.runs;
  // What the dialog showed first: the run can end while it is open.
  const [ended] = useState(isEnded(run));
  const request = useChange<unknown>(place, () => {
    close();
    done(undefined);
  });
  return (
    <FormDialog
      title={`${ended ? deleteName(run.name) : stopName(run.name)}?`}
      close={close}
      action={ended ? remove : stop}
      look="danger"
      command={commandOf('app', 'stop-run', name, run.name, ...placeFlags(place))}
      request={request}
      submit={() => request.mutate({ path: ['apps', name, 'runs', run.name], method: 'DELETE' })}
    >
      <p>{ended ? words.deleteWhat : words.stopWhat}</p>
    </FormDialog>
  );
}
