import { useQuery } from '@tanstack/react-query';
import { Link, useNavigate, useParams } from '@tanstack/react-router';
import { useState } from 'react';
import type { UserView } from '../../../../runtime/contracts/api/users.ts';
import { commandOf } from '../api/command.ts';
import { usePlatformChange } from '../api/platform-change.ts';
import { sessionQuery } from '../api/queries.ts';
import { Button, buttonLook } from '../parts/button.tsx';
import { Command } from '../parts/command.tsx';
import { Facts } from '../parts/facts.tsx';
import { Loaded } from '../parts/loaded.tsx';
import { ErrorNote } from '../parts/note.tsx';
import { Heading } from '../parts/page.tsx';
import { exactTime, Time } from '../parts/time.tsx';
import { AdminsOnly } from '../platform/admins-only.tsx';
import { platformText } from '../text/platform.ts';
import { OneTimePassword } from './one-time-password.tsx';
import { userQuery, type UserWithPassword } from './queries.ts';
import { DeleteDialog, DisableDialog, ResetDialog, RoleDialog } from './user-dialogs.tsx';

const words = platformText.users;

/** A user: role, state, password and deletion. */
export function UserPage() {
  const { user } = useParams({ from: '/frame/users/$user' });
  return (
    <>
      <Heading title={user}>
        <span className="flex-1" />
        <Link to="/users" search={{}} className={buttonLook()}>
          {words.title}
        </Link>
      </Heading>
      <AdminsOnly>
        <Settings key={user} name={user} />
      </AdminsOnly>
    </>
  );
}

function Settings({ name }: { name: string }) {
  return (
    <Loaded query={useQuery(userQuery(name))}>
      {(user) => {
        const { id, email, role, status, passwordExpiresAt, createdAt } = user;
        return (
          <div className="flex flex-col gap-4">
            <Facts
              facts={[
                [words.email, email],
                [words.role, words.roles[role]],
                [words.status, words.states[status]],
                [words.passwordExpires, passwordExpiresAt !== undefined && exactTime(passwordExpiresAt)],
                [words.created, <Time key="created" at={createdAt} />],
                [words.id, <code key="id">{id}</code>],
              ]}
            />
            <Command command={commandOf('user', 'show', email)} />
            <Actions user={user} />
          </div>
        );
      }}
    </Loaded>
  );
}

function Actions({ user }: { user: UserView }) {
  const navigate = useNavigate();
  const own = useQuery(sessionQuery).data?.email;
  const [dialog, setDialog] = useState<'role' | 'disable' | 'reset' | 'delete'>();
  const [reset, setReset] = useState<UserWithPassword>();
  const enable = usePlatformChange<UserView>('users');
  const { email, role, status } = user;
  const props = { user, close: () => setDialog(undefined) };
  // One's own session would end, or lose the right to see this page.
  if (email === own) return <p className="text-sm">{words.self}</p>;
  return (
    <>
      <div className="flex flex-wrap gap-2">
        <Button onClick={() => setDialog('role')}>{role === 'admin' ? words.makeMember : words.makeAdmin}</Button>
        <Button onClick={() => setDialog('reset')}>{words.reset}</Button>
        {status === 'disabled' ? (
          <Button
            disabled={enable.isPending}
            onClick={() => enable.mutate({ path: ['users', email], method: 'PATCH', body: { disabled: false } })}
          >
            {words.enable}
          </Button>
        ) : (
          <Button onClick={() => setDialog('disable')}>{words.disable}</Button>
        )}
        <Button look="danger" onClick={() => setDialog('delete')}>
          {words.delete}
        </Button>
      </div>
      {enable.error && <ErrorNote error={enable.error} />}
      {status === 'disabled' && <Command command={commandOf('user', 'update', email, '--enable')} />}
      {dialog === 'role' && <RoleDialog {...props} />}
      {dialog === 'disable' && <DisableDialog {...props} />}
      {dialog === 'reset' && <ResetDialog {...props} done={setReset} />}
      {dialog === 'delete' && <DeleteDialog {...props} deleted={() => void navigate({ to: '/users', search: {} })} />}
      {reset && <OneTimePassword user={reset} close={() => setReset(undefined)} />}
    </>
  );
}
