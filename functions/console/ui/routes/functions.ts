import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { offerSearch } from '../functions/offered.ts';
import { logSearch } from '../logs/search.ts';
import { metricsSearch } from '../metrics/search.ts';
import { environmentRoute } from './frame.tsx';

const page = createRoute({
  getParentRoute: () => environmentRoute,
  path: 'functions/$function',
  component: lazyRouteComponent(() => import('../functions/function.tsx'), 'FunctionPage'),
});

const overview = createRoute({
  getParentRoute: () => page,
  path: '/',
  component: lazyRouteComponent(() => import('../functions/function-overview.tsx'), 'FunctionOverview'),
});

const invoke = createRoute({
  getParentRoute: () => page,
  path: 'invoke',
  component: lazyRouteComponent(() => import('../functions/function-invoke.tsx'), 'FunctionInvoke'),
});

const runs = createRoute({
  getParentRoute: () => page,
  path: 'runs',
  validateSearch: ({ run }: Record<string, unknown>): { run?: string } => (typeof run === 'string' ? { run } : {}),
  component: lazyRouteComponent(() => import('../functions/function-runs.tsx'), 'FunctionRuns'),
});

const events = createRoute({
  getParentRoute: () => page,
  path: 'events',
  component: lazyRouteComponent(() => import('../functions/function-events.tsx'), 'FunctionEvents'),
});

const logs = createRoute({
  getParentRoute: () => page,
  path: 'logs',
  validateSearch: logSearch,
  component: lazyRouteComponent(() => import('../logs/log-page.tsx'), 'LogPage'),
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

const gate = createRoute({
  getParentRoute: () => page,
  path: 'gate',
  component: lazyRouteComponent(() => import('../workloads/gate-page.tsx'), 'GatePage'),
});

const settings = createRoute({
  getParentRoute: () => page,
  path: 'settings',
  // Values for the form, which the page keeps in memory.
  validateSearch: offerSearch,
  component: lazyRouteComponent(() => import('../functions/function-settings.tsx'), 'FunctionSettings'),
});

const create = createRoute({
  getParentRoute: () => environmentRoute,
  path: 'new-function',
  validateSearch: offerSearch,
  component: lazyRouteComponent(() => import('../functions/new-function.tsx'), 'NewFunction'),
});

/** The pages of a function, and the form of a new one. */
export const functionRoutes = [
  page.addChildren([overview, logs, metrics, invoke, runs, events, variables, gate, settings]),
  create,
] as const;
