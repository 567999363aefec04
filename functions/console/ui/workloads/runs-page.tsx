import { useNavigate, useSearch } from '@tanstack/react-router';
import { useChange } from '../api/change.ts';
import { useMay } from '../api/role.ts';
import { Button } from '../parts/button.tsx';
import { Command } from '../parts/command.tsx';
import { ErrorNote, Note } from '../parts/note.tsx';
import { Runs, type RunsProps } from './runs.tsx';
import { pathBelow } from './workload.ts';

interface RunsPageProps {
  workload: RunsProps['workload'];
  /** The path below the workload that starts a run. */
  below: 'runs' | 'test-runs';
  words: { start: string; startHint: string; started: (run: string) => string; empty: string; emptyHint: string };
  /** The command of `svc` that starts a run. */
  command: string;
}

/** The runs of a workload, and the button that starts one. */
export function RunsPage({ workload, below, words, command }: RunsPageProps) {
  const { place } = workload;
  const { run } = useSearch({ strict: false });
  const navigate = useNavigate();
  const select = (selected: string | undefined) =>
    void navigate({ to: '.', search: selected === undefined ? {} : { run: selected } });
  const mayRun = useMay(place.project, 'deployer');
  const start = useChange<{ id: string }>(place, ({ id }) => select(id));
  return (
    <div className="flex flex-col gap-6">
      {mayRun && (
        <div className="flex flex-col items-start gap-2">
          <Button
            look="primary"
            onClick={() => start.mutate({ path: pathBelow(workload, below), method: 'POST' })}
            disabled={start.isPending}
          >
            {words.start}
          </Button>
          <p className="text-sm text-zinc-600 dark:text-zinc-400">{words.startHint}</p>
          <div className="w-full">
            <Command command={command} />
          </div>
          {start.data && <Note look="good">{words.started(start.data.id)}</Note>}
          {start.error && <ErrorNote error={start.error} />}
        </div>
      )}
      <Runs
        workload={workload}
        selected={run}
        select={select}
        empty={{ title: words.empty, hint: words.emptyHint, command }}
      />
    </div>
  );
}
