import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { request } from '../api/client.ts';
import { Button } from '../parts/button.tsx';
import { Field, valueOf } from '../parts/field.tsx';
import { ErrorNote, Note } from '../parts/note.tsx';
import { text } from '../text/common.ts';

const words = text.newPassword;

interface PasswordFormProps {
  /** What the present password is called. */
  current: string;
  /** What the form says once the password is changed; absent where the page ends then. */
  success?: string;
  changed?: () => Promise<void>;
}

/** Asks for the present password and a new one, and changes it. */
export function PasswordForm({ current, success, changed }: PasswordFormProps) {
  const [differ, setDiffer] = useState(false);
  const change = useMutation({
    mutationFn: (form: HTMLFormElement) =>
      request('/users/me/password', {
        method: 'PUT',
        body: { currentPassword: valueOf(form, 'current'), newPassword: valueOf(form, 'next') },
      }),
    onSuccess: async (_, form) => {
      form.reset();
      await changed?.();
    },
    // The form has the passwords.
    gcTime: 0,
  });
  return (
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
      <Field label={current} name="current" type="password" autoComplete="current-password" required />
      <Field label={words.next} name="next" type="password" autoComplete="new-password" required />
      <Field label={words.repeat} name="repeat" type="password" autoComplete="new-password" required />
      {differ && <Note look="bad">{words.different}</Note>}
      {change.error && <ErrorNote error={change.error} />}
      {change.isSuccess && success !== undefined && !differ && <Note look="good">{success}</Note>}
      <Button type="submit" look="primary" disabled={change.isPending}>
        {words.submit}
      </Button>
    </form>
  );
}
