import type { Run, RunRequest, runStates } from '../contracts/resources/run.ts';

/** A run as the API shows it; see `runView` of the contracts. */
export interface ShownRun<Trigger extends string> {
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
 * A workload's runs, newest first: those that were asked for and are not made yet, and those that the controller saw.
 * @param asked what a wish becomes: the name and the trigger of its run
 */
export function runViews<Trigger extends string>(
  { spec, status }: { spec: { runRequests?: RunRequest[] | undefined }; status?: { runs?: Run<Trigger>[] } },
  asked: (request: RunRequest) => { name: string; trigger: Trigger },
): ShownRun<Trigger>[] {
  const seen = (status?.runs ?? []).map(runToView);
  const names = new Set(seen.map(({ name }) => name));
  const waiting = (spec.runRequests ?? [])
    .map((request): ShownRun<Trigger> => ({
      ...asked(request),
      status: 'pending',
      ...(request.by !== undefined && { actor: request.by }),
      createdAt: request.at,
    }))
    .filter(({ name }) => !names.has(name));
  return [...waiting.toReversed(), ...seen];
}

function runToView<Trigger extends string>({ state, by, ...run }: Run<Trigger>): ShownRun<Trigger> {
  return { ...run, status: state, ...(by !== undefined && { actor: by }) };
}

/** The key by which pages of runs ascend: the newest has the lowest. */
export function runPageKey({ createdAt, name }: Pick<Run, 'createdAt' | 'name'>): string {
  return `${String(Number.MAX_SAFE_INTEGER - Date.parse(createdAt)).padStart(16, '0')} ${name}`;
}
