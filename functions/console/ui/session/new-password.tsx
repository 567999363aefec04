import { useQueryClient } from '@tanstack/react-query';
import { commandOf } from '../api/command.ts';
import { sessionQuery } from '../api/queries.ts';
import { Command } from '../parts/command.tsx';
import { Heading, Narrow } from '../parts/page.tsx';
import { text } from '../text/common.ts';
import { PasswordForm } from './password-form.tsx';

/** After signing in with a one-time password, a user can only choose a new one. */
export function NewPassword({ done }: { done: () => void }) {
  const client = useQueryClient();
  return (
    <Narrow>
      <Heading title={text.newPassword.title} />
      <p className="text-sm">{text.newPassword.hint}</p>
      <PasswordForm
        current={text.newPassword.current}
        changed={async () => {
          await client.fetchQuery({ ...sessionQuery, staleTime: 0 });
          done();
        }}
      />
      <Command command={commandOf('user', 'password')} />
    </Narrow>
  );
}
