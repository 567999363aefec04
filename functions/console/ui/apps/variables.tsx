import { useParams } from '@tanstack/react-router';
import { WorkloadVariables } from '../workloads/variables.tsx';
import { appRoute } from './app.tsx';

/** The variables and secrets of an app. */
export function VariablesPage() {
  const { app: name, ...place } = useParams({ from: appRoute });
  return <WorkloadVariables place={place} kind="app" name={name} />;
}
