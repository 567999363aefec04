import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { commandOf } from '../api/command.ts';
import { request } from '../api/client.ts';
import { sessionQuery } from '../api/queries.ts';
import { Button } from '../parts/button.tsx';
import { Command } from '../parts/command.tsx';
import { Field, valueOf } from '../parts/field.tsx';
import { ErrorNote, Note } from '../parts/note.tsx';
import { Heading, Narrow } from '../parts/page.tsx';
import { text } from '../text/common.ts';

/** After signing in with a one-time password, a user can only choose a new one. */
export function NewPassword({ done }: { done: () => void }) {
  const client = useQueryClient();
  const [differ, setDiffer] = useState(false);
  const change = useMutation({
    mutationFn: (form: HTMLFormElement) =>
      request('/users/me/password', {
        method: 'PUT',
        body: { currentPassword: valueOf(form, 'current'), newPassword: valueOf(form, 'next') },
      }),
    onSuccess: async () => {
      await client.fetchQuery({ ...sessionQuery, staleTime: 0 });
      done();
    },
  });
  return (
    <Narrow>
      <Heading title={text.newPassword.title} />
      <p className="text-sm">{text.newPassword.hint}</p>
      <form
        className="flex flex-col gap-4"
        onSubmit={(event) => {
          event.preventDefault();
          const form = event.currentTarget;
          const different = valueOf(form, 'next') !== valueOf(form, 'repeat');
          setDiffer(different);
          if (!different) change.mutate(form);
        }}
      >
        <Field
          label={text.newPassword.current}
          name="current"
          type="password"
          autoComplete="current-password"
          required
        />
        <Field label={text.newPassword.next} name="next" type="password" autoComplete="new-password" required />
        <Field label={text.newPassword.repeat} name="repeat" type="password" autoComplete="new-password" required />
        {differ && <Note look="bad">{text.newPassword.different}</Note>}
        {change.error && <ErrorNote error={change.error} />}
        <Button type="submit" look="primary" disabled={change.isPending}>
          {text.newPassword.submit}
        </Button>
      </form>
      <Command command={commandOf('user', 'password')} />
    </Narrow>
  );
}
