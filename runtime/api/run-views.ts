import type { Run, RunRequest, runStates } from '../contracts/resources/run.ts';

/** A run as the API shows it (`runView` of the contracts). */
export interface RunView<Trigger extends string> {
  name: string;
  trigger: Trigger;
  status: (typeof runStates)[number];
  actor?: string;
  createdAt: string;
  startedAt?: string;
  endedAt?: string;
  message?: string;
}

/**
 * A workload's runs, newest first: those that the controller reports, and requested ones that it has not started yet.
 * @param fromRequest the name and the trigger of the run that a request leads to, and why it waits
 */
export function runViews<Trigger extends string>(
  { spec, status }: { spec: { runRequests?: RunRequest[] | undefined }; status?: { runs?: Run<Trigger>[] } },
  fromRequest: (request: RunRequest) => Pick<RunView<Trigger>, 'name' | 'trigger' | 'message'>,
): RunView<Trigger>[] {
  const reported = (status?.runs ?? []).map(runToView);
  const names = new Set(reported.map(({ name }) => name));
  const pending = (spec.runRequests ?? [])
    .map((request): RunView<Trigger> => ({
      ...fromRequest(request),
      status: 'pending',
      ...(request.by !== undefined && { actor: request.by }),
      createdAt: request.at,
    }))
    .filter(({ name }) => !names.has(name));
  return [...pending.toReversed(), ...reported];
}

function runToView<Trigger extends string>({ state, by, ...run }: Run<Trigger>): RunView<Trigger> {
  return { ...run, status: state, ...(by !== undefined && { actor: by }) };
}

/**
 * The key by which pages of runs ascend: the newest run has the lowest. Kubernetes tells times in seconds; the list decides
 * about the runs of one second, whose places are counted from the oldest, because newer ones are added.
 * @param runs all runs, newest first
 */
export function runPageKey(runs: readonly Pick<Run, 'createdAt' | 'name'>[]) {
  const counts = new Map<string, number>();
  const places = new Map<string, number>();
  for (const { createdAt, name } of runs.toReversed()) {
    const place = counts.get(createdAt) ?? 0;
    counts.set(createdAt, place + 1);
    places.set(name, place);
  }
  const descending = (value: number) => String(Number.MAX_SAFE_INTEGER - value).padStart(16, '0');
  return ({ createdAt, name }: Pick<Run, 'createdAt' | 'name'>): string =>
    `${descending(Date.parse(createdAt))} ${descending(places.get(name) ?? 0)} ${name}`;
}
