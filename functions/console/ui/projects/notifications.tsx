import { useQuery } from '@tanstack/react-query';
import { Link, useNavigate, useParams, useSearch } from '@tanstack/react-router';
import { useState } from 'react';
import type { NotificationView } from '../../../../runtime/contracts/api/notifications.ts';
import { commandOf } from '../api/command.ts';
import { useMay, useMayNot } from '../api/role.ts';
import { Badge } from '../parts/badge.tsx';
import { Button } from '../parts/button.tsx';
import { Command, Empty } from '../parts/command.tsx';
import { Loaded } from '../parts/loaded.tsx';
import { cellLook, Cells, linkLook, rowLook, wideCellLook } from '../parts/page.tsx';
import { useCreation } from '../shell/creation.ts';
import { text } from '../text/common.ts';
import { notificationText as words } from '../text/project.ts';
import { NotificationDialog, SecretDialog } from './notification-dialogs.tsx';
import { originOf, shortEvent } from './notification-target.ts';
import { Notification } from './notification.tsx';
import { projectRoute } from './project.tsx';
import { notificationsQuery } from './queries.ts';

/** Whom the platform tells when a deployment ends. Only admins of the project see it. */
export function Notifications() {
  const { project } = useParams({ from: projectRoute });
  const isAdmin = useMay(project, 'admin');
  if (useMayNot(project, 'admin')) return <p className="text-sm">{words.onlyAdmins}</p>;
  return isAdmin && <Targets project={project} />;
}

function Targets({ project }: { project: string }) {
  const { notification: shown } = useSearch({ from: `${projectRoute}/notifications` });
  const navigate = useNavigate();
  const [creates, setCreates] = useCreation();
  // Held by this part alone, so that the secret is gone with the dialog that shows it.
  const [secret, setSecret] = useState<string>();
  const show = (notification: string | undefined) =>
    void navigate({
      to: '/projects/$project/notifications',
      params: { project },
      search: notification === undefined ? {} : { notification },
    });
  return (
    <div className="flex flex-col gap-4">
      <p className="text-sm">{words.hint}</p>
      <div>
        <Button look="primary" onClick={() => setCreates(true)}>
          {words.create}
        </Button>
      </div>
      <Loaded query={useQuery(notificationsQuery(project))}>
        {({ items, nextCursor }) => {
          const current = items.find(({ id }) => id === shown);
          return items.length === 0 ? (
            <Empty
              title={words.empty}
              hint={words.emptyHint}
              command={commandOf(
                ...['notification', 'create', 'ops', '--url', 'https://hooks.example.com/svc', '--project', project],
              )}
            />
          ) : (
            <>
              <TargetTable project={project} targets={items} />
              {nextCursor !== undefined && <p className="text-sm">{text.errors.partial}</p>}
              <Command command={commandOf('notification', 'list', '--project', project)} />
              {current && (
                <Notification
                  key={current.id}
                  project={project}
                  target={current}
                  showSecret={setSecret}
                  deleted={() => show(undefined)}
                />
              )}
            </>
          );
        }}
      </Loaded>
      {creates && (
        <NotificationDialog
          project={project}
          close={() => setCreates(false)}
          done={({ id, secret: created }) => {
            show(id);
            setSecret(created);
          }}
        />
      )}
      {secret !== undefined && <SecretDialog secret={secret} close={() => setSecret(undefined)} />}
    </div>
  );
}

function TargetTable({ project, targets }: { project: string; targets: readonly NotificationView[] }) {
  return (
    <table className="w-full text-sm">
      <Cells
        heads={[
          { title: words.name },
          { title: words.status },
          { title: words.events, wide: true },
          { title: words.filters, wide: true },
          { title: words.target },
        ]}
      />
      <tbody>
        {targets.map(({ id, name, url, events, apps, environments, enabled }) => (
          <tr key={id} className={rowLook}>
            <th scope="row" className={`${cellLook} text-left wrap-anywhere`}>
              <Link
                to="/projects/$project/notifications"
                params={{ project }}
                search={{ notification: id }}
                className={linkLook}
              >
                {name}
              </Link>
            </th>
            <td className={cellLook}>
              <Badge tone={enabled ? 'good' : 'warn'}>{enabled ? words.enabled : words.disabled}</Badge>
            </td>
            <td className={wideCellLook}>{events.map(shortEvent).join(', ')}</td>
            <td className={`${wideCellLook} wrap-anywhere`}>
              {[...(apps ?? []), ...(environments ?? [])].join(', ') || text.none}
            </td>
            <td className={`${cellLook} wrap-anywhere`}>{originOf(url)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
