import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { environmentRoute } from './frame.tsx';

const service = createRoute({
  getParentRoute: () => environmentRoute,
  path: 'services/$service',
  component: lazyRouteComponent(() => import('../services/service.tsx'), 'ServicePage'),
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
export const serviceRoutes = [service, volume, newService, newVolume] as const;
