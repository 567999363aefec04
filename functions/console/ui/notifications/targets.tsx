import { useQuery } from '@tanstack/react-query';
import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import { useState } from 'react';
import type { NotificationView } from '../../../../runtime/contracts/api/notifications.ts';
import { Badge } from '../parts/badge.tsx';
import { Button } from '../parts/button.tsx';
import { Command, Empty } from '../parts/command.tsx';
import { Loaded } from '../parts/loaded.tsx';
import { cellLook, Cells, linkLook, rowLook, wideCellLook } from '../parts/page.tsx';
import { useCreation } from '../shell/creation.ts';
import { text } from '../text/common.ts';
import { notificationText as words } from '../text/notifications.ts';
import { NotificationDialog, SecretDialog } from './dialogs.tsx';
import { Notification } from './notification.tsx';
import type { NotificationOwner } from './owner.ts';
import { notificationsQuery } from './queries.ts';
import { notificationSearch } from './search.ts';
import { originOf, shortEvent } from './target.ts';

/** The notifications of a project or the platform. The address says which one is shown with its messages. */
export function Targets({ owner }: { owner: NotificationOwner }) {
  const { notification: shown } = notificationSearch(useSearch({ strict: false }));
  const navigate = useNavigate();
  const [creates, setCreates] = useCreation();
  // Held by this part alone, so that the secret is gone with the dialog that shows it.
  const [secret, setSecret] = useState<string>();
  const show = (notification: string | undefined) =>
    void navigate({ to: '.', search: notification === undefined ? {} : { notification } });
  return (
    <div className="flex flex-col gap-4">
      <p className="text-sm">{owner.text.hint}</p>
      <div>
        <Button look="primary" onClick={() => setCreates(true)}>
          {words.create}
        </Button>
      </div>
      <Loaded query={useQuery(notificationsQuery(owner))}>
        {({ items, nextCursor }) => {
          const current = items.find(({ id }) => id === shown);
          return items.length === 0 ? (
            <Empty
              title={owner.text.empty}
              hint={owner.text.emptyHint}
              command={owner.command('create', 'ops', '--url', 'https://hooks.example.com/svc')}
            />
          ) : (
            <>
              <TargetTable owner={owner} targets={items} />
              {nextCursor !== undefined && <p className="text-sm">{text.errors.partial}</p>}
              <Command command={owner.command('list')} />
              {current && (
                <Notification
                  key={current.id}
                  owner={owner}
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
          owner={owner}
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

function TargetTable({ owner, targets }: { owner: NotificationOwner; targets: readonly NotificationView[] }) {
  return (
    <table className="w-full text-sm">
      <Cells
        heads={[
          { title: words.name },
          { title: words.status },
          { title: words.events, wide: true },
          ...(owner.project === undefined ? [] : [{ title: words.filters, wide: true }]),
          { title: words.target },
        ]}
      />
      <tbody>
        {targets.map(({ id, name, url, events, apps, environments, enabled }) => (
          <tr key={id} className={rowLook}>
            <th scope="row" className={`${cellLook} text-left wrap-anywhere`}>
              <Link to="." search={{ notification: id }} className={linkLook}>
                {name}
              </Link>
            </th>
            <td className={cellLook}>
              <Badge tone={enabled ? 'good' : 'warn'}>{enabled ? words.enabled : words.disabled}</Badge>
            </td>
            <td className={wideCellLook}>{events.map(shortEvent).join(', ')}</td>
            {owner.project !== undefined && (
              <td className={`${wideCellLook} wrap-anywhere`}>
                {[...(apps ?? []), ...(environments ?? [])].join(', ') || text.none}
              </td>
            )}
            <td className={`${cellLook} wrap-anywhere`}>{originOf(url)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
