import type { QueryClient } from '@tanstack/react-query';
import { createRootRouteWithContext, createRoute, Link, Outlet, redirect, useRouter } from '@tanstack/react-router';
import { ApiError } from '../api/client.ts';
import { sessionQuery } from '../api/queries.ts';
import { buttonLook } from '../parts/button.tsx';
import { ErrorNote } from '../parts/note.tsx';
import { Heading, linkLook } from '../parts/page.tsx';
import { Frame } from '../session/frame.tsx';
import { text } from '../text/common.ts';

interface Context {
  client: QueryClient;
}

export function NotFound() {
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

/** While the code of a page is loaded. */
export function Pending() {
  return (
    <p role="status" className="py-6 text-sm text-zinc-600 dark:text-zinc-400">
      {text.loading}
    </p>
  );
}

/** A defect in a page: the rest of the console stays usable. */
export function Crashed({ error }: { error: unknown }) {
  return (
    <div className="mx-auto flex max-w-xl flex-col gap-4 px-4 py-12">
      <Heading title={text.errors.crashedTitle} />
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
    <main>
      <Crashed error={error} />
    </main>
  );
}

export const rootRoute = createRootRouteWithContext<Context>()({ component: Outlet, notFoundComponent: NotFound });

/** Parent of all pages that need a session. */
export const frameRoute = createRoute({
  getParentRoute: () => rootRoute,
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

/** Parent of all pages of an environment. */
export const environmentRoute = createRoute({
  getParentRoute: () => frameRoute,
  path: '/projects/$project/environments/$environment',
});
