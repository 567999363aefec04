import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { logSearch } from '../logs/search.ts';
import { metricsSearch } from '../metrics/search.ts';
import { environmentRoute } from './frame.tsx';

const app = createRoute({
  getParentRoute: () => environmentRoute,
  path: 'apps/$app',
  component: lazyRouteComponent(() => import('../apps/app.tsx'), 'AppPage'),
});

const overview = createRoute({
  getParentRoute: () => app,
  path: '/',
  component: lazyRouteComponent(() => import('../apps/app-overview.tsx'), 'AppOverview'),
});

const deployments = createRoute({
  getParentRoute: () => app,
  path: 'deployments',
  // The revision whose differences to the one before are shown, and the deployment whose log is shown.
  validateSearch: ({ changes, log }: Record<string, unknown>): { changes?: number; log?: string } => ({
    ...(typeof changes === 'number' && { changes }),
    ...(typeof log === 'string' && { log }),
  }),
  component: lazyRouteComponent(() => import('../apps/deployments.tsx'), 'Deployments'),
});

const runs = createRoute({
  getParentRoute: () => app,
  path: 'runs',
  // The run whose log is shown.
  validateSearch: ({ run }: Record<string, unknown>): { run?: string } => (typeof run === 'string' ? { run } : {}),
  component: lazyRouteComponent(() => import('../apps/app-runs.tsx'), 'AppRuns'),
});

const variables = createRoute({
  getParentRoute: () => app,
  path: 'variables',
  component: lazyRouteComponent(() => import('../workloads/variables-page.tsx'), 'VariablesPage'),
});

const gate = createRoute({
  getParentRoute: () => app,
  path: 'gate',
  component: lazyRouteComponent(() => import('../workloads/gate-page.tsx'), 'GatePage'),
});

const webhook = createRoute({
  getParentRoute: () => app,
  path: 'webhook',
  // The delivery that is shown with its body.
  validateSearch: ({ delivery }: Record<string, unknown>): { delivery?: string } =>
    typeof delivery === 'string' ? { delivery } : {},
  component: lazyRouteComponent(() => import('../apps/webhook.tsx'), 'Webhook'),
});

const git = createRoute({
  getParentRoute: () => app,
  path: 'git',
  // The deployment whose build log is shown.
  validateSearch: ({ build }: Record<string, unknown>): { build?: string } =>
    typeof build === 'string' ? { build } : {},
  component: lazyRouteComponent(() => import('../apps/git.tsx'), 'Git'),
});

const settings = createRoute({
  getParentRoute: () => app,
  path: 'settings',
  component: lazyRouteComponent(() => import('../apps/settings.tsx'), 'Settings'),
});

const logs = createRoute({
  getParentRoute: () => app,
  path: 'logs',
  validateSearch: logSearch,
  component: lazyRouteComponent(() => import('../logs/log-page.tsx'), 'LogPage'),
});

const metrics = createRoute({
  getParentRoute: () => app,
  path: 'metrics',
  validateSearch: metricsSearch,
  component: lazyRouteComponent(() => import('../metrics/metrics-page.tsx'), 'MetricsPage'),
});

const create = createRoute({
  getParentRoute: () => environmentRoute,
  path: 'new-app',
  component: lazyRouteComponent(() => import('../apps/new-app.tsx'), 'NewApp'),
});

/** The pages of an app, and the form of a new one. */
export const appRoutes = [
  app.addChildren([overview, deployments, runs, variables, gate, webhook, git, logs, metrics, settings]),
  create,
] as const;
