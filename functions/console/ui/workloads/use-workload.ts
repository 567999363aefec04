import { useParams } from '@tanstack/react-router';
import type { Workload } from './workload.ts';

/** The workload of the page, as its address names it: for pages that all kinds share. */
export function useWorkload(): Workload {
  const { project = '', environment = '', app, function: fn, job = '' } = useParams({ strict: false });
  const place = { project, environment };
  if (app !== undefined) return { place, kind: 'app', name: app };
  return fn === undefined ? { place, kind: 'job', name: job } : { place, kind: 'function', name: fn };
}
