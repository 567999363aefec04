import { useMutation, useQueryClient } from '@tanstack/react-query';
import { commandOf } from '../api/command.ts';
import { request } from '../api/client.ts';
import { sessionQuery, type SessionView } from '../api/queries.ts';
import { Button } from '../parts/button.tsx';
import { Command } from '../parts/command.tsx';
import { Field, valueOf } from '../parts/field.tsx';
import { ErrorNote } from '../parts/note.tsx';
import { Heading, Narrow } from '../parts/page.tsx';
import { text } from '../text/common.ts';

/** The page to sign in. */
export function SignIn({ done }: { done: () => void }) {
  const client = useQueryClient();
  return (
    <Narrow>
      <Heading title={text.signIn.title} />
      <p className="text-sm">{text.signIn.hint}</p>
      <SignInForm
        signedIn={(session) => {
          // Another person may have used the console before.
          client.clear();
          client.setQueryData(sessionQuery.queryKey, session);
          done();
        }}
      />
      <Command command={commandOf('login', '--api', location.origin)} />
      <p className="text-sm">{text.signIn.forgotten}</p>
      <Command command={commandOf('user', 'reset-password', 'dana@example.com')} />
    </Narrow>
  );
}

/** Asks for email address and password. The API answers with an HttpOnly cookie, so the page never keeps a token. */
export function SignInForm({ signedIn }: { signedIn: (session: SessionView) => void }) {
  const signIn = useMutation({
    mutationFn: async (form: HTMLFormElement) => {
      await request('/session', {
        method: 'POST',
        body: { email: valueOf(form, 'email'), password: valueOf(form, 'password') },
      });
      return request<SessionView>('/session');
    },
    onSuccess(session, form) {
      form.reset();
      signedIn(session);
    },
    // The form has the password.
    gcTime: 0,
  });
  return (
    <form
      className="flex flex-col gap-4"
      onSubmit={(event) => {
        event.preventDefault();
        signIn.mutate(event.currentTarget);
      }}
    >
      <Field label={text.signIn.email} name="email" type="email" autoComplete="username" required />
      <Field label={text.signIn.password} name="password" type="password" autoComplete="current-password" required />
      {signIn.error && <ErrorNote error={signIn.error} />}
      <Button type="submit" look="primary" disabled={signIn.isPending}>
        {signIn.isPending ? text.signIn.submitting : text.signIn.submit}
      </Button>
    </form>
  );
}
