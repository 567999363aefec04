import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import type { MemberView } from '../../../../runtime/contracts/api/members.ts';
import { projectRoles } from '../../../../runtime/domain/roles.ts';
import { useProjectChange } from '../api/change.ts';
import { commandOf } from '../api/command.ts';
import { Select } from '../parts/choice.tsx';
import { Field } from '../parts/field.tsx';
import { FormDialog } from '../parts/form-dialog.tsx';
import { Note } from '../parts/note.tsx';
import { projectText } from '../text/project.ts';
import { hasMember } from './member-list.ts';
import { membersQuery } from './queries.ts';

const words = projectText.members;
const roles = projectRoles.map((value) => ({ value, label: words.roles[value] }));

interface DialogProps {
  project: string;
  close: () => void;
}

/** Gives a user a role in a project. */
export function AddMemberDialog({ project, close }: DialogProps) {
  const [email, setEmail] = useState('');
  const [role, setRole] = useState('viewer');
  const add = useProjectChange<MemberView>(project, close);
  // The same request would change the role of a member, which the form does not show.
  const isMember = hasMember(useQuery(membersQuery(project)).data?.items ?? [], email);
  return (
    <FormDialog
      title={words.add}
      close={close}
      action={words.add}
      disabled={isMember}
      command={commandOf('member', 'set', email || 'dana@example.com', '--role', role, '--project', project)}
      request={add}
      submit={() => add.mutate({ path: ['members', email], method: 'PUT', body: { role, replaces: 'none' } })}
    >
      <p>{words.addHint}</p>
      {/* The API takes addresses that the field type email of browsers refuses. */}
      <Field
        label={words.fields.email}
        inputMode="email"
        value={email}
        onChange={(event) => setEmail(event.target.value)}
        required
        maxLength={320}
        autoComplete="off"
      />
      {isMember && <Note look="warn">{words.isMember}</Note>}
      <Select
        label={words.fields.role}
        options={roles}
        value={role}
        onChange={(event) => setRole(event.target.value)}
      />
    </FormDialog>
  );
}

/** Changes the role of a member. */
export function RoleDialog({ project, member, close }: DialogProps & { member: MemberView }) {
  const [before] = useState(member);
  const [role, setRole] = useState<string>(before.role);
  const save = useProjectChange<MemberView>(project, close);
  return (
    <FormDialog
      title={words.changeTitle(before.email)}
      close={close}
      action={words.save}
      disabled={role === before.role}
      command={commandOf('member', 'set', before.email, '--role', role, '--project', project)}
      request={save}
      submit={() =>
        save.mutate({
          path: ['members', before.email],
          method: 'PUT',
          // A role that another admin sets meanwhile stays, and a member whom another admin removes stays removed.
          body: { role, replaces: before.role },
        })
      }
    >
      <p>{words.changeHint}</p>
      <Select
        label={words.fields.role}
        options={roles}
        value={role}
        onChange={(event) => setRole(event.target.value)}
      />
    </FormDialog>
  );
}

/** Removes a member from a project. */
export function RemoveMemberDialog({
  project,
  email,
  warning,
  close,
  done,
}: DialogProps & { email: string; warning: string; done: () => void }) {
  const remove = useProjectChange<undefined>(project, () => {
    close();
    done();
  });
  return (
    <FormDialog
      title={words.removeTitle(email)}
      close={close}
      action={words.remove}
      look="danger"
      command={commandOf('member', 'remove', email, '--project', project)}
      request={remove}
      submit={() => remove.mutate({ path: ['members', email], method: 'DELETE' })}
    >
      <p>{warning}</p>
    </FormDialog>
  );
}
