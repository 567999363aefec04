import { useQuery } from '@tanstack/react-query';
import { Link, useSearch } from '@tanstack/react-router';
import { useState } from 'react';
import type { UserView } from '../../../../runtime/contracts/api/users.ts';
import { platformRoles } from '../../../../runtime/domain/roles.ts';
import { commandOf } from '../api/command.ts';
import { usePlatformChange } from '../api/platform-change.ts';
import { sessionQuery } from '../api/queries.ts';
import { Badge } from '../parts/badge.tsx';
import { Button, buttonLook } from '../parts/button.tsx';
import { Select } from '../parts/choice.tsx';
import { Command, Empty } from '../parts/command.tsx';
import { Field } from '../parts/field.tsx';
import { FormDialog } from '../parts/form-dialog.tsx';
import { Loaded } from '../parts/loaded.tsx';
import { cellLook, Cells, Heading, linkLook, rowLook, wideCellLook } from '../parts/page.tsx';
import { Time } from '../parts/time.tsx';
import { AdminsOnly } from '../platform/admins-only.tsx';
import { useCreation } from '../shell/creation.ts';
import { platformText } from '../text/platform.ts';
import { OneTimePassword } from './one-time-password.tsx';
import { usersQuery, type UserWithPassword } from './queries.ts';
import { UserState } from './user-state.tsx';

const words = platformText.users;

/** The users of the platform. */
export function Users() {
  const isAdmin = useQuery(sessionQuery).data?.role === 'admin';
  const [creates, setCreates] = useCreation();
  const [created, setCreated] = useState<UserWithPassword>();
  return (
    <>
      <Heading title={words.title}>
        <span className="flex-1" />
        {isAdmin && (
          <Button look="primary" onClick={() => setCreates(true)}>
            {words.create}
          </Button>
        )}
      </Heading>
      <AdminsOnly>
        <UserList />
        {creates && <CreateDialog close={() => setCreates(false)} done={setCreated} />}
        {created && <OneTimePassword user={created} close={() => setCreated(undefined)} />}
      </AdminsOnly>
    </>
  );
}

function UserList() {
  const { after } = useSearch({ from: '/frame/users' });
  return (
    <Loaded query={useQuery(usersQuery(after))}>
      {({ items, nextCursor }) => (
        <div className="flex flex-col gap-4">
          {items.length === 0 ? (
            <Empty
              title={words.empty}
              hint={words.emptyHint}
              command={commandOf('user', 'create', 'dana@example.com')}
            />
          ) : (
            <UserTable users={items} />
          )}
          {(after !== undefined || nextCursor !== undefined) && (
            <div className="flex flex-wrap gap-2">
              {after !== undefined && (
                <Link to="/users" search={{}} className={buttonLook()}>
                  {words.first}
                </Link>
              )}
              {nextCursor !== undefined && (
                <Link to="/users" search={{ after: nextCursor }} className={buttonLook()}>
                  {words.next}
                </Link>
              )}
            </div>
          )}
          {items.length > 0 && <Command command={commandOf('user', 'list')} />}
        </div>
      )}
    </Loaded>
  );
}

function UserTable({ users }: { users: readonly UserView[] }) {
  const own = useQuery(sessionQuery).data?.email;
  return (
    <table className="w-full text-sm">
      <Cells
        heads={[
          { title: words.user },
          { title: words.role },
          { title: words.status },
          { title: words.created, wide: true },
        ]}
      />
      <tbody>
        {users.map(({ id, email, role, status, createdAt }) => (
          <tr key={id} className={rowLook}>
            <th scope="row" className={`${cellLook} text-left font-medium`}>
              <Link to="/users/$user" params={{ user: email }} className={linkLook}>
                {email}
              </Link>
            </th>
            <td className={cellLook}>
              {words.roles[role]} {email === own && <Badge>{words.you}</Badge>}
            </td>
            <td className={cellLook}>
              <UserState status={status} />
            </td>
            <td className={wideCellLook}>
              <Time at={createdAt} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function CreateDialog({ close, done }: { close: () => void; done: (user: UserWithPassword) => void }) {
  const [email, setEmail] = useState('');
  const [role, setRole] = useState('member');
  const create = usePlatformChange<UserWithPassword>('users', (user) => {
    close();
    done(user);
  });
  return (
    <FormDialog
      title={words.create}
      close={close}
      action={words.create}
      command={commandOf('user', 'create', email || 'dana@example.com', '--role', role)}
      request={create}
      submit={() => create.mutate({ path: ['users'], method: 'POST', body: { email, role } })}
    >
      {/* The API takes addresses that the field type email of browsers refuses. */}
      <Field
        label={words.email}
        inputMode="email"
        value={email}
        onChange={(event) => setEmail(event.target.value)}
        maxLength={320}
        required
        autoComplete="off"
      />
      <Select
        label={words.role}
        options={platformRoles.map((value) => ({ value, label: words.roles[value] }))}
        value={role}
        onChange={(event) => setRole(event.target.value)}
      />
      <p>{words.createHint}</p>
    </FormDialog>
  );
}
