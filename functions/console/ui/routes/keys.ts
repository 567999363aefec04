import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { creationSearch } from '../shell/creation.ts';
import { environmentRoute } from './frame.tsx';

const keys = createRoute({
  getParentRoute: () => environmentRoute,
  path: 'keys',
  validateSearch: creationSearch,
  component: lazyRouteComponent(() => import('../keys/keys.tsx'), 'Keys'),
});

const key = createRoute({
  getParentRoute: () => environmentRoute,
  path: 'keys/$key',
  component: lazyRouteComponent(() => import('../keys/key.tsx'), 'KeyPage'),
});

const plans = createRoute({
  getParentRoute: () => environmentRoute,
  path: 'plans',
  validateSearch: creationSearch,
  component: lazyRouteComponent(() => import('../keys/plans.tsx'), 'Plans'),
});

/** The pages about API keys and plans. */
export const keyRoutes = [keys, key, plans] as const;
