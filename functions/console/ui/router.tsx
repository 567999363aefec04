import type { QueryClient } from '@tanstack/react-query';
import {
  createRootRouteWithContext,
  createRoute,
  createRouter,
  lazyRouteComponent,
  Link,
  Outlet,
  redirect,
  useRouter,
} from '@tanstack/react-router';
import { ApiError } from './api/client.ts';
import { sessionQuery } from './api/queries.ts';
import { Overview } from './environment/overview.tsx';
import { buttonLook } from './parts/button.tsx';
import { ErrorNote } from './parts/note.tsx';
import { Heading, linkLook, Narrow } from './parts/page.tsx';
import { Projects } from './projects/projects.tsx';
import { Frame } from './session/frame.tsx';
import { NewPassword } from './session/new-password.tsx';
import { SignIn } from './session/sign-in.tsx';
import { text } from './text.ts';

interface Context {
  client: QueryClient;
}

function NotFound() {
  return (
    <main className="mx-auto max-w-xl px-4 py-12">
      <Heading title={text.notFound.title} />
      <p className="mb-4">{text.notFound.hint}</p>
      <Link to="/" className={linkLook}>
        {text.notFound.home}
      </Link>
    </main>
  );
}

/** A defect in a page: the rest of the console stays usable. */
function Crashed({ error }: { error: unknown }) {
  return (
    <div className="mx-auto flex max-w-xl flex-col gap-4 px-4 py-12">
      {!(error instanceof ApiError) && <p>{text.errors.crashed}</p>}
      <ErrorNote error={error} />
      <a href={location.href} className={buttonLook()}>
        {text.errors.reload}
      </a>
    </div>
  );
}

/** As {@link Crashed}, where the frame of the pages cannot be shown either. */
function CrashedFrame({ error }: { error: unknown }) {
  return (
    <Narrow>
      <Heading title={text.product} />
      <Crashed error={error} />
    </Narrow>
  );
}

const root = createRootRouteWithContext<Context>()({ component: Outlet, notFoundComponent: NotFound });

/** A path of this site, whatever a link from outside put into the parameter. */
function localPath(value: unknown): string | undefined {
  if (typeof value !== 'string' || !value.startsWith('/')) return undefined;
  const url = URL.parse(value, location.origin);
  return url?.origin === location.origin ? `${url.pathname}${url.search}` : undefined;
}

const signIn = createRoute({
  getParentRoute: () => root,
  path: '/sign-in',
  // The router keeps what a link put into the address, even where this leaves it out: `localPath` decides on its use.
  validateSearch: ({ next, expired }: Record<string, unknown>): { next?: string; expired?: true } => ({
    ...(typeof next === 'string' && { next }),
    ...(expired === true && { expired }),
  }),
  component: function SignInPage() {
    const router = useRouter();
    const { next, expired } = signIn.useSearch();
    return <SignIn expired={expired === true} done={() => router.history.push(localPath(next) ?? '/')} />;
  },
});

const newPassword = createRoute({
  getParentRoute: () => root,
  path: '/new-password',
  component: function NewPasswordPage() {
    const router = useRouter();
    return <NewPassword done={() => router.history.push('/')} />;
  },
});

/** All pages that need a session. */
const frame = createRoute({
  getParentRoute: () => root,
  id: 'frame',
  errorComponent: CrashedFrame,
  beforeLoad: async ({ context, location: { href } }) => {
    const session = await context.client.ensureQueryData(sessionQuery);
    if (session?.passwordChangeRequired) throw redirect({ to: '/new-password' });
    if (!session) throw redirect({ to: '/sign-in', search: href === '/' ? {} : { next: href } });
  },
  component: function FramePage() {
    const router = useRouter();
    const signedOut = () => {
      router.options.context.client.clear();
      void router.navigate({ to: '/sign-in', search: {} });
    };
    return (
      <Frame signedOut={signedOut}>
        <Outlet />
      </Frame>
    );
  },
});

const projects = createRoute({ getParentRoute: () => frame, path: '/', component: Projects });

const environment = createRoute({ getParentRoute: () => frame, path: '/projects/$project/environments/$environment' });

const overview = createRoute({
  getParentRoute: () => environment,
  path: '/',
  component: function OverviewPage() {
    return <Overview {...overview.useParams()} />;
  },
});

const app = createRoute({
  getParentRoute: () => environment,
  path: 'apps/$app',
  component: lazyRouteComponent(() => import('./apps/app.tsx'), 'AppPage'),
});

const appOverview = createRoute({
  getParentRoute: () => app,
  path: '/',
  component: lazyRouteComponent(() => import('./apps/app-overview.tsx'), 'AppOverview'),
});

const appDeployments = createRoute({
  getParentRoute: () => app,
  path: 'deployments',
  component: lazyRouteComponent(() => import('./apps/deployments.tsx'), 'Deployments'),
});

const appVariables = createRoute({
  getParentRoute: () => app,
  path: 'variables',
  component: lazyRouteComponent(() => import('./apps/variables.tsx'), 'VariablesPage'),
});

const routeTree = root.addChildren([
  signIn,
  newPassword,
  frame.addChildren([
    projects,
    environment.addChildren([overview, app.addChildren([appOverview, appDeployments, appVariables])]),
  ]),
]);

/** The pages of the console by path. */
export function createConsoleRouter(client: QueryClient) {
  return createRouter({
    routeTree,
    context: { client },
    defaultErrorComponent: Crashed,
    defaultNotFoundComponent: NotFound,
    notFoundMode: 'root',
    scrollRestoration: false,
  });
}

declare module '@tanstack/react-router' {
  interface Register {
    router: ReturnType<typeof createConsoleRouter>;
  }
}
