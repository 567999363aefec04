import { useQuery } from '@tanstack/react-query';
import { useNavigate, useParams } from '@tanstack/react-router';
import { useState } from 'react';
import type { MemberView } from '../../../../runtime/contracts/api/members.ts';
import { commandOf } from '../api/command.ts';
import { projectQuery, sessionQuery } from '../api/queries.ts';
import { useMay } from '../api/role.ts';
import { Badge } from '../parts/badge.tsx';
import { Button } from '../parts/button.tsx';
import { Command, Empty } from '../parts/command.tsx';
import { Loaded } from '../parts/loaded.tsx';
import { cellLook, Cells, rowLook, wideCellLook, wordLook } from '../parts/page.tsx';
import { Time } from '../parts/time.tsx';
import { useCreation } from '../shell/creation.ts';
import { text } from '../text/common.ts';
import { projectText } from '../text/project.ts';
import { AddMemberDialog, RemoveMemberDialog, RoleDialog } from './member-dialogs.tsx';
import { projectRoute } from './project.tsx';
import { membersQuery } from './queries.ts';

const words = projectText.members;

interface Choice {
  action: 'role' | 'remove';
  member: MemberView;
}

/** The members of a project and their roles. */
export function Members() {
  const { project } = useParams({ from: projectRoute });
  const isAdmin = useMay(project, 'admin');
  const status = useQuery(projectQuery(project)).data?.status;
  const session = useQuery(sessionQuery).data;
  const navigate = useNavigate();
  const [adds, setAdds] = useCreation();
  const [choice, setChoice] = useState<Choice>();
  const mayChange = isAdmin && status !== 'deleting';
  const props = { project, close: () => setChoice(undefined) };
  // Platform admins still see the project.
  const losesAccess = (email: string) => email === session?.email && session.role !== 'admin';
  return (
    <div className="flex flex-col gap-4">
      {mayChange && (
        <div>
          <Button look="primary" onClick={() => setAdds(true)}>
            {words.add}
          </Button>
        </div>
      )}
      <Loaded query={useQuery(membersQuery(project))}>
        {({ items, nextCursor }) => (
          <>
            {items.length === 0 ? (
              <Empty
                title={words.empty}
                hint={words.emptyHint}
                command={commandOf('member', 'set', 'dana@example.com', '--role', 'admin', '--project', project)}
              />
            ) : (
              <MemberTable
                members={items}
                email={session?.email}
                lastAdmin={nextCursor === undefined ? lastAdminOf(items) : undefined}
                {...(mayChange && { choose: setChoice })}
              />
            )}
            {nextCursor !== undefined && <p className="text-sm">{text.errors.partial}</p>}
            <Command command={commandOf('member', 'list', '--project', project)} />
          </>
        )}
      </Loaded>
      {adds && mayChange && <AddMemberDialog project={project} close={() => setAdds(false)} />}
      {choice?.action === 'role' && <RoleDialog {...props} member={choice.member} />}
      {choice?.action === 'remove' && (
        <RemoveMemberDialog
          {...props}
          email={choice.member.email}
          warning={losesAccess(choice.member.email) ? words.removeYourself : words.removeWhat}
          done={() => {
            if (losesAccess(choice.member.email)) void navigate({ to: '/' });
          }}
        />
      )}
    </div>
  );
}

/** The only admin, whom the API keeps; undefined where there are several. */
function lastAdminOf(members: readonly MemberView[]): MemberView | undefined {
  const admins = members.filter(({ role, disabled = false }) => role === 'admin' && !disabled);
  return admins.length === 1 ? admins[0] : undefined;
}

interface TableProps {
  members: readonly MemberView[];
  /** The signed-in user. */
  email: string | undefined;
  lastAdmin: MemberView | undefined;
  choose?: (choice: Choice) => void;
}

function MemberTable({ members, email: own, lastAdmin, choose }: TableProps) {
  return (
    <>
      <table className="w-full text-sm">
        <Cells
          heads={[
            { title: words.email },
            { title: words.role },
            { title: words.since, wide: true },
            ...(choose ? [{ title: words.actions }] : []),
          ]}
        />
        <tbody>
          {members.map((member) => {
            const { email, role, since, disabled = false } = member;
            return (
              <tr key={email} className={rowLook}>
                <th scope="row" className={`${cellLook} text-left font-medium wrap-anywhere`}>
                  {email}
                </th>
                <td className={`${cellLook} ${wordLook}`}>
                  <span className="flex flex-wrap gap-1">
                    {role}
                    {email === own && <Badge>{words.you}</Badge>}
                    {disabled && <Badge tone="warn">{words.disabled}</Badge>}
                  </span>
                </td>
                <td className={wideCellLook}>
                  <Time at={since} />
                </td>
                {choose && (
                  <td className={cellLook}>
                    {member !== lastAdmin && (
                      <span className="flex flex-wrap gap-2">
                        <Button aria-label={words.changeName(email)} onClick={() => choose({ action: 'role', member })}>
                          {words.change}
                        </Button>
                        <Button
                          aria-label={words.removeName(email)}
                          onClick={() => choose({ action: 'remove', member })}
                        >
                          {words.remove}
                        </Button>
                      </span>
                    )}
                  </td>
                )}
              </tr>
            );
          })}
        </tbody>
      </table>
      {choose && lastAdmin && <p className="text-sm">{words.lastAdmin}</p>}
    </>
  );
}
