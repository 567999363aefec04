import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { frameRoute } from './frame.tsx';

/** The page of the user's account. */
export const accountRoute = createRoute({
  getParentRoute: () => frameRoute,
  path: 'account',
  // The project whose access tokens are shown.
  validateSearch: ({ project }: Record<string, unknown>): { project?: string } =>
    typeof project === 'string' ? { project } : {},
  component: lazyRouteComponent(() => import('../account/account.tsx'), 'Account'),
});
