import { createRoute, useRouter } from '@tanstack/react-router';
import { NewPassword } from '../session/new-password.tsx';
import { SignIn } from '../session/sign-in.tsx';
import { rootRoute } from './frame.tsx';

/** A path of this site, whatever a link from outside put into the parameter. */
function localPath(value: unknown): string | undefined {
  if (typeof value !== 'string' || !value.startsWith('/')) return undefined;
  const url = URL.parse(value, location.origin);
  return url?.origin === location.origin ? `${url.pathname}${url.search}` : undefined;
}

const signIn = createRoute({
  getParentRoute: () => rootRoute,
  path: '/sign-in',
  // The router keeps what a link put into the address, even where this leaves it out: `localPath` decides on its use.
  validateSearch: ({ next }: Record<string, unknown>): { next?: string } => (typeof next === 'string' ? { next } : {}),
  component: function SignInPage() {
    const router = useRouter();
    const { next } = signIn.useSearch();
    return <SignIn done={() => router.history.push(localPath(next) ?? '/')} />;
  },
});

const newPassword = createRoute({
  getParentRoute: () => rootRoute,
  path: '/new-password',
  component: function NewPasswordPage() {
    const router = useRouter();
    return <NewPassword done={() => router.history.push('/')} />;
  },
});

/** The pages without a session. */
export const sessionRoutes = [signIn, newPassword] as const;
