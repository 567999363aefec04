import { useQuery } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { useChange } from '../api/change.ts';
import { commandOf, placeFlags } from '../api/command.ts';
import { useMay } from '../api/role.ts';
import { Button } from '../parts/button.tsx';
import { ErrorNote, Note } from '../parts/note.tsx';
import { functionText } from '../text/functions.ts';
import { viewQuery } from '../workloads/queries.ts';
import { Runs } from '../workloads/runs.tsx';
import { pathBelow } from '../workloads/workload.ts';
import { useFunction } from './function.tsx';

const words = functionText.runs;
const from = '/frame/projects/$project/environments/$environment/functions/$function/runs';

/** The runs of a cron function, and the button for a test run. */
export function FunctionRuns() {
  const workload = useFunction();
  const { place, name } = workload;
  const { run } = useSearch({ from });
  const navigate = useNavigate({ from: '/projects/$project/environments/$environment/functions/$function/runs' });
  const select = (selected: string | undefined) =>
    void navigate({ search: selected === undefined ? {} : { run: selected } });
  const mayRun = useMay(place.project, 'deployer');
  const { data: view } = useQuery(viewQuery(workload));
  const test = useChange<{ id: string }>(place, ({ id }) => select(id));
  const command = commandOf('function', 'test', name, ...placeFlags(place));
  if (view?.trigger !== 'cron') return <p className="text-sm">{words.notCron}</p>;
  return (
    <div className="flex flex-col gap-6">
      {mayRun && (
        <div className="flex flex-col items-start gap-2">
          <Button
            look="primary"
            onClick={() => test.mutate({ path: pathBelow(workload, 'test-runs'), method: 'POST' })}
            disabled={test.isPending}
          >
            {words.test}
          </Button>
          <p className="text-sm text-zinc-600 dark:text-zinc-400">{words.testHint}</p>
          {test.data && <Note look="good">{words.started(test.data.id)}</Note>}
          {test.error && <ErrorNote error={test.error} />}
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
