import { useWorkload } from './use-workload.ts';
import { WorkloadVariables } from './variables.tsx';

/** The variables, secrets and bindings of an app, function or job. */
export function VariablesPage() {
  return <WorkloadVariables {...useWorkload()} />;
}
