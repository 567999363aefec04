import { queryOptions } from '@tanstack/react-query';
import type { z } from 'zod';
import type { BindingView } from '../../../../runtime/contracts/api/bindings.ts';
import type { DeadLetterView, FunctionEventView, FunctionView } from '../../../../runtime/contracts/api/functions.ts';
import type { JobView } from '../../../../runtime/contracts/api/jobs.ts';
import type { PodView } from '../../../../runtime/contracts/api/pods.ts';
import type { GateView } from '../../../../runtime/contracts/api/public-route.ts';
import type { AnyRunView, runLogs } from '../../../../runtime/contracts/api/runs.ts';
import type { SecretView, VariablesView } from '../../../../runtime/contracts/api/variables.ts';
import { pathOf, request } from '../api/client.ts';
import { live, polled } from '../api/live.ts';
import type { List } from '../api/queries.ts';
import { pathBelow, type Workload } from './workload.ts';

type RunLogs = z.infer<typeof runLogs>;

const pageSize = 500;

/** What the API returns below a workload's path. */
function part<Result>(workload: Workload, below: readonly string[], query: Record<string, string | number> = {}) {
  const { place, kind, name } = workload;
  const { project, environment } = place;
  return queryOptions({
    // As of the queries of an app, so that one key stands for all that a page shows of a workload.
    queryKey: ['project', project, environment, kind, name, ...below, ...Object.values(query)],
    queryFn: ({ signal }) =>
      request<Result>(pathOf('projects', project, ...pathBelow(workload, ...below)), {
        query: { environment, ...query },
        signal,
      }),
    ...live,
  });
}

interface Views {
  function: FunctionView;
  job: JobView;
}

export const viewQuery = <Kind extends keyof Views>(workload: Workload & { kind: Kind }) =>
  part<Views[Kind]>(workload, []);

export const variablesQuery = (workload: Workload) => part<VariablesView>(workload, ['env']);

/** The pods of an app or function. The event stream reports the workload, and not each restart of a container. */
export const podsQuery = (workload: Workload) =>
  queryOptions({ ...part<{ items: PodView[] }>(workload, ['pods']), ...polled });

export const gateQuery = (workload: Workload) => part<GateView>(workload, ['gate']);

export const bindingsQuery = (workload: Workload) => part<{ items: BindingView[] }>(workload, ['bindings']);

export const secretsQuery = (workload: Workload) => part<List<SecretView>>(workload, ['secrets']);

/** The runs of a job or cron function, or the one-off runs of an app, newest first. */
export const runsQuery = (workload: Workload) => part<List<AnyRunView>>(workload, ['runs'], { limit: pageSize });

/** The log of a run. The event stream reports the state of the run, and not its lines. */
export const runLogQuery = (workload: Workload, run: string) => ({
  ...part<RunLogs>(workload, ['run-logs'], { run }),
  ...polled,
});

/** The pending events of a function. No message tells when the lease of a delivery ends by itself. */
export const eventsQuery = (workload: Workload) =>
  queryOptions({ ...part<List<FunctionEventView>>(workload, ['events'], { limit: pageSize }), ...polled });

export const deadLettersQuery = (workload: Workload) =>
  part<List<DeadLetterView>>(workload, ['dead-letters'], { limit: pageSize });
