import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { metricsSearch } from '../metrics/search.ts';
import { environmentRoute } from './frame.tsx';

const service = createRoute({
  getParentRoute: () => environmentRoute,
  path: 'services/$service',
  component: lazyRouteComponent(() => import('../services/service.tsx'), 'ServicePage'),
});

const overview = createRoute({
  getParentRoute: () => service,
  path: '/',
  component: lazyRouteComponent(() => import('../services/service-overview.tsx'), 'ServiceOverview'),
});

const metrics = createRoute({
  getParentRoute: () => service,
  path: 'metrics',
  validateSearch: metricsSearch,
  component: lazyRouteComponent(() => import('../services/service-metrics.tsx'), 'ServiceMetrics'),
});

const volume = createRoute({
  getParentRoute: () => environmentRoute,
  path: 'volumes/$volume',
  component: lazyRouteComponent(() => import('../services/volume.tsx'), 'VolumePage'),
});

const newService = createRoute({
  getParentRoute: () => environmentRoute,
  path: 'new-service',
  component: lazyRouteComponent(() => import('../services/new-service.tsx'), 'NewService'),
});

const newVolume = createRoute({
  getParentRoute: () => environmentRoute,
  path: 'new-volume',
  component: lazyRouteComponent(() => import('../services/new-volume.tsx'), 'NewVolume'),
});

/** The pages of services and volumes, and the forms of new ones. */
export const serviceRoutes = [service.addChildren([overview, metrics]), volume, newService, newVolume] as const;
