import { newId } from '../../runtime/domain/ids.ts';
import { Problem } from '../../runtime/domain/problem.ts';

export interface TestEnvironment {
  project: string;
  environment: string;
  environmentId: string;
  namespace: string;
}

/** Two projects: `shop` with one environment, `wide` with two. */
export function testEnvironments() {
  const all = ['shop-prod', 'wide-prod', 'wide-test'].map((namespace): TestEnvironment => {
    const [project = '', environment = ''] = namespace.split('-');
    return { project, environment, environmentId: newId(), namespace };
  });
  const projectEnvironments = async (project: string) => {
    const environments = all.filter((each) => each.project === project);
    if (environments.length === 0) throw new Problem('not_found', `There is no project "${project}".`);
    return environments;
  };
  return {
    all,
    projectEnvironments,
    async resolveEnvironment(project: string, environment?: string) {
      const environments = (await projectEnvironments(project)).filter(
        (each) => environment === undefined || each.environment === environment,
      );
      const [first] = environments;
      if (!first) throw new Problem('not_found', `There is no environment "${environment}".`);
      if (environments.length > 1) throw new Problem('environment_required', 'Name one of prod, test.');
      return first;
    },
  };
}
