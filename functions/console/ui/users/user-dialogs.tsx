import { useState } from 'react';
import type { UserView } from '../../../../runtime/contracts/api/users.ts';
import { commandOf } from '../api/command.ts';
import { usePlatformChange } from '../api/platform-change.ts';
import { Field } from '../parts/field.tsx';
import { FormDialog } from '../parts/form-dialog.tsx';
import { platformText } from '../text/platform.ts';
import type { UserWithPassword } from './queries.ts';

const words = platformText.users;

interface DialogProps {
  user: UserView;
  close: () => void;
}

/** Makes a member a platform admin, or the reverse. */
export function RoleDialog({ user, close }: DialogProps) {
  // What the dialog asked first: the user can be read again while it is open.
  const [{ email, role }] = useState(user);
  const next = role === 'admin' ? 'member' : 'admin';
  const save = usePlatformChange<UserView>('users', close);
  return (
    <FormDialog
      title={next === 'admin' ? words.makeAdmin : words.makeMember}
      close={close}
      action={next === 'admin' ? words.makeAdmin : words.makeMember}
      command={commandOf('user', 'update', email, '--role', next)}
      request={save}
      submit={() => save.mutate({ path: ['users', email], method: 'PATCH', body: { role: next } })}
    >
      <p>{next === 'admin' ? words.makeAdminWhat(email) : words.makeMemberWhat(email)}</p>
    </FormDialog>
  );
}

/** Ends the sessions of a user, who cannot sign in until an admin enables the user. */
export function DisableDialog({ user: { email }, close }: DialogProps) {
  const disable = usePlatformChange<UserView>('users', close);
  return (
    <FormDialog
      title={words.disableTitle(email)}
      close={close}
      action={words.disable}
      look="danger"
      command={commandOf('user', 'update', email, '--disable')}
      request={disable}
      submit={() => disable.mutate({ path: ['users', email], method: 'PATCH', body: { disabled: true } })}
    >
      <p>{words.disableWhat}</p>
    </FormDialog>
  );
}

/** Replaces the password of a user by a one-time password. */
export function ResetDialog({
  user: { email },
  close,
  done,
}: DialogProps & { done: (user: UserWithPassword) => void }) {
  const reset = usePlatformChange<UserWithPassword>('users', (user) => {
    close();
    done(user);
  });
  return (
    <FormDialog
      title={words.resetTitle(email)}
      close={close}
      action={words.reset}
      look="danger"
      command={commandOf('user', 'reset-password', email)}
      request={reset}
      submit={() => reset.mutate({ path: ['users', email, 'password'], method: 'POST', body: {} })}
    >
      <p>{words.resetWhat}</p>
    </FormDialog>
  );
}

/** Deletes a user, behind the email address. */
export function DeleteDialog({
  user: { email, onlyAdminOf = [] },
  close,
  deleted,
}: DialogProps & { deleted: () => void }) {
  const [typed, setTyped] = useState('');
  const remove = usePlatformChange<unknown>('users', deleted);
  return (
    <FormDialog
      title={words.deleteTitle(email)}
      close={close}
      action={words.delete}
      look="danger"
      disabled={typed !== email}
      command={commandOf('user', 'delete', email)}
      request={remove}
      submit={() => remove.mutate({ path: ['users', email], method: 'DELETE' })}
    >
      <p>{words.deleteWhat}</p>
      {onlyAdminOf.length > 0 && <p>{words.deleteOnlyAdmin(onlyAdminOf)}</p>}
      <Field
        label={words.confirm(email)}
        value={typed}
        onChange={(event) => setTyped(event.target.value)}
        autoComplete="off"
        spellCheck={false}
      />
    </FormDialog>
  );
}
