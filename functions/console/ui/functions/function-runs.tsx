import { useQuery } from '@tanstack/react-query';
import { commandOf, placeFlags } from '../api/command.ts';
import { functionText } from '../text/functions.ts';
import { viewQuery } from '../workloads/queries.ts';
import { RunsPage } from '../workloads/runs-page.tsx';
import { useFunction } from './function.tsx';

const words = functionText.runs;

/** The runs of a cron function, and the button for a test run. */
export function FunctionRuns() {
  const workload = useFunction();
  const { place, name } = workload;
  const { data: view } = useQuery(viewQuery(workload));
  if (view?.trigger !== 'cron') return <p className="text-sm">{words.notCron}</p>;
  const command = commandOf('function', 'test', name, ...placeFlags(place));
  return <RunsPage workload={workload} below="test-runs" words={words} command={command} />;
}
