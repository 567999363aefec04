import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { logSearch, type LogSearch } from '../logs/search.ts';
import { metricsSearch } from '../metrics/search.ts';
import { environmentRoute } from './frame.tsx';

const page = createRoute({
  getParentRoute: () => environmentRoute,
  path: 'jobs/$job',
  component: lazyRouteComponent(() => import('../jobs/job.tsx'), 'JobPage'),
});

const overview = createRoute({
  getParentRoute: () => page,
  path: '/',
  component: lazyRouteComponent(() => import('../jobs/job-overview.tsx'), 'JobOverview'),
});

const runSearch = ({ run }: Record<string, unknown>): { run?: string } => (typeof run === 'string' ? { run } : {});

const runs = createRoute({
  getParentRoute: () => page,
  path: 'runs',
  validateSearch: runSearch,
  component: lazyRouteComponent(() => import('../jobs/job-runs.tsx'), 'JobRuns'),
});

const logs = createRoute({
  getParentRoute: () => page,
  path: 'logs',
  // The run whose log is shown; without it, the lines of all runs.
  validateSearch: (values: Record<string, unknown>): LogSearch & { run?: string } => ({
    ...logSearch(values),
    ...runSearch(values),
  }),
  component: lazyRouteComponent(() => import('../jobs/job-logs.tsx'), 'JobLogs'),
});

const metrics = createRoute({
  getParentRoute: () => page,
  path: 'metrics',
  validateSearch: metricsSearch,
  component: lazyRouteComponent(() => import('../metrics/metrics-page.tsx'), 'MetricsPage'),
});

const variables = createRoute({
  getParentRoute: () => page,
  path: 'variables',
  component: lazyRouteComponent(() => import('../workloads/variables-page.tsx'), 'VariablesPage'),
});

const settings = createRoute({
  getParentRoute: () => page,
  path: 'settings',
  component: lazyRouteComponent(() => import('../jobs/job-settings.tsx'), 'JobSettings'),
});

const create = createRoute({
  getParentRoute: () => environmentRoute,
  path: 'new-job',
  component: lazyRouteComponent(() => import('../jobs/new-job.tsx'), 'NewJob'),
});

/** The pages of a job, and the form of a new one. */
export const jobRoutes = [page.addChildren([overview, runs, logs, metrics, variables, settings]), create] as const;
