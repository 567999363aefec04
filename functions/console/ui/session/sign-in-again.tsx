import { focusManager, useQueryClient } from '@tanstack/react-query';
import { useEffect, useRef } from 'react';
import { sessionQuery, type SessionView } from '../api/queries.ts';
import { Note } from '../parts/note.tsx';
import { Narrow } from '../parts/page.tsx';
import { text } from '../text/common.ts';
import { SignInForm } from './sign-in.tsx';

/**
 * Covers the page once its session has ended. The page stays below, so that what the user has written in it is there after
 * signing in; nobody else sees it.
 * @param email who was signed in
 */
export function SignInAgain({ email }: { email: string | undefined }) {
  const client = useQueryClient();
  const dialog = useRef<HTMLDialogElement>(null);
  const resume = async (session: SessionView) => {
    // The answer to an earlier request could say again that the session has ended.
    await client.cancelQueries();
    client.setQueryData(sessionQuery.queryKey, session);
    await client.invalidateQueries();
  };
  useEffect(() => {
    const before = document.activeElement;
    // Above other dialogs, which stay open.
    dialog.current?.showModal();
    // As in a hidden tab, the page asks for nothing.
    focusManager.setFocused(false);
    return () => {
      focusManager.setFocused(undefined);
      if (before instanceof HTMLElement) before.focus();
    };
  }, []);
  return (
    <dialog
      ref={dialog}
      aria-labelledby="sign-in-again"
      onKeyDown={(event) => {
        if (event.key === 'Escape') event.preventDefault();
      }}
      onCancel={(event) => event.preventDefault()}
      // A browser may close it all the same, such as by the back gesture of a phone.
      onClose={() => dialog.current?.showModal()}
      className="m-0 h-dvh max-h-none w-dvw max-w-none bg-white text-zinc-900 dark:bg-zinc-950 dark:text-zinc-100"
    >
      <Narrow>
        <h2 id="sign-in-again" className="text-xl font-semibold">
          {text.signIn.title}
        </h2>
        <Note look="warn">
          {text.signIn.expired} {text.signIn.kept}
        </Note>
        <SignInForm
          signedIn={(session) => {
            if (session.email !== email || session.passwordChangeRequired) {
              // Nothing of the user before may be left in the page.
              location.assign('/');
              return;
            }
            void resume(session);
          }}
        />
      </Narrow>
    </dialog>
  );
}
