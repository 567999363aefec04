import type { QueryClient } from '@tanstack/react-query';
import { createRoute, createRouter } from '@tanstack/react-router';
import { Overview } from './environment/overview.tsx';
import { Projects } from './projects/projects.tsx';
import { accountRoute } from './routes/account.ts';
import { appRoutes } from './routes/apps.ts';
import { Crashed, environmentRoute, frameRoute, NotFound, Pending, rootRoute } from './routes/frame.tsx';
import { functionRoutes } from './routes/functions.ts';
import { imagesRoute } from './routes/images.ts';
import { jobRoutes } from './routes/jobs.ts';
import { keyRoutes } from './routes/keys.ts';
import { platformRoutes } from './routes/platform.ts';
import { serviceRoutes } from './routes/services.ts';
import { projectRoutes } from './routes/project.ts';
import { sessionRoutes } from './routes/session.tsx';
import { creationSearch } from './shell/creation.ts';

const projects = createRoute({
  getParentRoute: () => frameRoute,
  path: '/',
  validateSearch: creationSearch,
  component: Projects,
});

const overview = createRoute({
  getParentRoute: () => environmentRoute,
  path: '/',
  component: function OverviewPage() {
    return <Overview {...overview.useParams()} />;
  },
});

const routeTree = rootRoute.addChildren([
  ...sessionRoutes,
  frameRoute.addChildren([
    projects,
    accountRoute,
    projectRoutes,
    ...platformRoutes,
    environmentRoute.addChildren([
      overview,
      ...appRoutes,
      ...functionRoutes,
      ...jobRoutes,
      ...keyRoutes,
      ...serviceRoutes,
      imagesRoute,
    ]),
  ]),
]);

/** The pages of the console by path. */
export function createConsoleRouter(client: QueryClient) {
  return createRouter({
    routeTree,
    context: { client },
    defaultErrorComponent: Crashed,
    // The code of a page can take seconds on a slow network.
    defaultPendingComponent: Pending,
    defaultPendingMs: 300,
    defaultNotFoundComponent: NotFound,
    notFoundMode: 'root',
    // A page about another object begins anew: an open dialog of the one before would act on this one.
    defaultRemountDeps: ({ params }) => params,
    scrollRestoration: false,
  });
}

declare module '@tanstack/react-router' {
  interface Register {
    router: ReturnType<typeof createConsoleRouter>;
  }
}
