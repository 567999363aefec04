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

/** The pages of services and volumes. */
export const serviceRoutes = [service, volume] as const;
