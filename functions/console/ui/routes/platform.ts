import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { frameRoute } from './frame.tsx';

const users = createRoute({
  getParentRoute: () => frameRoute,
  path: '/users',
  // The last email address of the page before.
  validateSearch: ({ after }: Record<string, unknown>): { after?: string } =>
    typeof after === 'string' ? { after } : {},
  component: lazyRouteComponent(() => import('../users/users.tsx'), 'Users'),
});

const user = createRoute({
  getParentRoute: () => frameRoute,
  path: '/users/$user',
  component: lazyRouteComponent(() => import('../users/user.tsx'), 'UserPage'),
});

/** The pages for platform admins. */
export const platformRoutes = [users, user] as const;
