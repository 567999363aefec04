import { useMutation, useQuery } from '@tanstack/react-query';
import { Link, useParams } from '@tanstack/react-router';
import { lazy, Suspense, useEffect, useState } from 'react';
import { ApiError, request } from '../api/client.ts';
import { sessionQuery } from '../api/queries.ts';
import { usePanel } from '../assistant/use-panel.ts';
import { Button } from '../parts/button.tsx';
import { ErrorNote } from '../parts/note.tsx';
import { forgetObjects } from '../shell/recent.ts';
import { MainNavigation } from '../shell/navigation.tsx';
import { Tools } from '../shell/tools.tsx';
import { Outage } from './outage.tsx';
import { SignInAgain } from './sign-in-again.tsx';
import { text } from '../text/common.ts';
import { LiveProject } from './live-project.tsx';

// Most pages are left without it, so the first load has none of it.
const AssistantPanel = lazy(async () => ({ default: (await import('../assistant/panel.tsx')).AssistantPanel }));

/** The header of every page for a signed-in user. */
export function Frame({ signedOut, children }: { signedOut: () => void; children: React.ReactNode }) {
  const { data: session } = useQuery(sessionQuery);
  const { project } = useParams({ strict: false });
  const panel = usePanel();
  // Once the session has ended, this is who was signed in.
  const [email, setEmail] = useState(session?.email);
  if (session && email === undefined) setEmail(session.email);
  // Another tab has signed in another user: tabs share the cookie. Nothing of the user before may be left in the page.
  const isAnother = session !== undefined && session !== null && email !== undefined && session.email !== email;
  useEffect(() => {
    if (isAnother) location.assign('/');
  }, [isAnother]);
  const signOut = useMutation({
    mutationFn: async () => {
      try {
        await request('/session', { method: 'DELETE' });
      } catch (error) {
        // The session had ended already.
        if (!(error instanceof ApiError && error.status === 401)) throw error;
      }
    },
    onSuccess: () => {
      forgetObjects();
      signedOut();
    },
  });
  // The API cuts the event stream of a session that has ended.
  const isLeaving = signOut.isPending || signOut.isSuccess;
  if (isAnother) return null;
  return (
    <>
      <div inert={panel.covers} className={panel.isOpen ? 'lg:pr-112' : ''}>
        <a
          href="#content"
          className="sr-only focus:not-sr-only focus:absolute focus:bg-white focus:p-2 dark:focus:bg-zinc-900"
        >
          {text.skip}
        </a>
        <header className="border-b border-zinc-200 dark:border-zinc-800">
          <div className="mx-auto flex max-w-6xl flex-wrap items-center gap-x-4 gap-y-2 px-4 py-2">
            <Link to="/" className="font-mono font-semibold">
              {text.product}
            </Link>
            <MainNavigation />
            <span className="flex-1" />
            <span className="hidden text-sm text-zinc-600 lg:inline dark:text-zinc-400">{email}</span>
            <Tools signOut={() => signOut.mutate()} panel={panel} />
            <Button onClick={() => signOut.mutate()} disabled={signOut.isPending}>
              {text.signOut}
            </Button>
          </div>
        </header>
        <main id="content" className="mx-auto max-w-6xl px-4 py-6">
          {session && project !== undefined && !isLeaving && <LiveProject key={project} project={project} />}
          {signOut.error && <ErrorNote error={signOut.error} />}
          {children}
        </main>
      </div>
      {panel.opened > 0 && (
        <Suspense>
          <AssistantPanel isOpen={panel.isOpen} covers={panel.covers} focus={panel.opened} close={panel.close} />
        </Suspense>
      )}
      <Outage />
      {session === null && <SignInAgain email={email} />}
    </>
  );
}
