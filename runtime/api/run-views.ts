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

/** The key by which pages of runs ascend: the newest run has the lowest. */
export function runPageKey({ createdAt, name }: Pick<Run, 'createdAt' | 'name'>): string {
  return `${String(Number.MAX_SAFE_INTEGER - Date.parse(createdAt)).padStart(16, '0')} ${name}`;
}
