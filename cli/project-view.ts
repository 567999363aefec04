import { projectView, type ProjectView } from '../runtime/contracts/api/projects.ts';
import { segment } from './client.ts';
import type { Context } from './context.ts';
import { Failure } from './failure.ts';
import { table } from './output.ts';
import { waitFor, type WaitFlags } from './wait.ts';

/** Where the API has a project. */
export const projectPath = (project: string) => `/projects/${segment(project)}`;

/** Environments as people see them. */
export function environmentTable(environments: ProjectView['environments']): string {
  return table(environments, [
    { title: 'ENVIRONMENT', value: ({ name }) => name },
    { title: 'NAMESPACE', value: ({ namespace }) => namespace },
    { title: 'STATUS', value: ({ ready, message }) => (ready ? 'ready' : (message ?? 'creating')) },
  ]);
}

/** Waits until the project is ready, and the named environment with it. */
export function untilReady(
  context: Context,
  flags: WaitFlags & { api: string | undefined },
  name: string,
): Promise<ProjectView> {
  const api = context.api(flags);
  return waitFor(
    context,
    flags,
    async () => {
      const project = await api.call('GET', projectPath(name), projectView);
      const failed = project.environments.find(({ ready, message }) => !ready && message !== undefined);
      if (project.status === 'failed') {
        throw new Failure(`Project "${name}" failed: ${failed?.message ?? 'see its status'}`, { code: 'failed' });
      }
      const pending = project.environments.filter(({ ready }) => !ready).map((environment) => environment.name);
      if (project.status === 'ready' && pending.length === 0) return { done: project };
      return { progress: `creating environment ${pending.join(', ')} of ${name}` };
    },
    `it goes on: svc project show ${name}`,
  );
}
