import { projectView, type ProjectView } from '../runtime/contracts/api/projects.ts';
import { segment } from './client.ts';
import type { Context } from './context.ts';
import { Failure } from './failure.ts';
import { table, type Column } from './output.ts';
import { waitFor, type WaitFlags } from './wait.ts';

type EnvironmentRow = ProjectView['environments'][number];

/** The columns of a list of environments. */
export const environmentColumns: readonly Column<EnvironmentRow>[] = [
  { title: 'ENVIRONMENT', value: ({ name }) => name },
  { title: 'NAMESPACE', value: ({ namespace }) => namespace },
  { title: 'STATUS', value: ({ ready, message }) => (ready ? 'ready' : (message ?? 'creating')) },
];

/** A list of environments for people. */
export function environmentTable(environments: readonly EnvironmentRow[]): string {
  return table(environments, environmentColumns);
}

/** Waits until a project and all its environments are ready. @throws Failure `failed` */
export function waitUntilReady(
  context: Context,
  flags: WaitFlags & { api: string | undefined },
  name: string,
): Promise<ProjectView> {
  const api = context.api(flags);
  return waitFor(
    context,
    flags,
    async () => {
      const project = await api.call('GET', `/projects/${segment(name)}`, projectView);
      const failed = project.environments.find(({ ready, message }) => !ready && message !== undefined);
      if (project.status === 'failed') {
        throw new Failure(`Project "${name}" failed: ${failed?.message ?? 'see its status'}`, { code: 'failed' });
      }
      const pending = project.environments.filter(({ ready }) => !ready).map((environment) => environment.name);
      if (project.status === 'ready' && pending.length === 0) return { done: project };
      return {
        progress: `creating ${pending.length === 1 ? 'environment' : 'environments'} ${pending.join(', ')} of ${name}`,
      };
    },
    `svc project show ${name}`,
  );
}
