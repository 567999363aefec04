import { WorkloadVariables } from '../workloads/variables.tsx';
import { useFunction } from './function.tsx';

/** The variables and secrets of a function. */
export function FunctionVariables() {
  return <WorkloadVariables {...useFunction()} />;
}
