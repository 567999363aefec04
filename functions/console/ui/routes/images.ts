import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { environmentRoute } from './frame.tsx';

/** The page of the images that builds made. */
export const imagesRoute = createRoute({
  getParentRoute: () => environmentRoute,
  path: 'images',
  // The app whose images are shown; default: all.
  validateSearch: ({ app }: Record<string, unknown>): { app?: string } =>
    typeof app === 'string' && app !== '' ? { app } : {},
  component: lazyRouteComponent(() => import('../images/images.tsx'), 'Images'),
});
