import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import type { z } from 'zod';
import type {
  deliveryAccepted,
  DeliveryView,
  NotificationView,
} from '../../../../runtime/contracts/api/notifications.ts';
import { Badge } from '../parts/badge.tsx';
import { Button } from '../parts/button.tsx';
import { Command, Empty } from '../parts/command.tsx';
import { Facts } from '../parts/facts.tsx';
import { Loaded } from '../parts/loaded.tsx';
import { ErrorNote, Note } from '../parts/note.tsx';
import { cellLook, Cells, rowLook, wideCellLook } from '../parts/page.tsx';
import { Time } from '../parts/time.tsx';
import { text } from '../text/common.ts';
import { notificationText as words } from '../text/notifications.ts';
import { useNotificationChange } from './change.ts';
import { DeleteNotificationDialog, NotificationDialog, RotateDialog } from './dialogs.tsx';
import type { NotificationOwner } from './owner.ts';
import { deliveriesQuery, deliveryQuery } from './queries.ts';
import { originOf, shortEvent } from './target.ts';

type Accepted = z.infer<typeof deliveryAccepted>;

interface NotificationProps {
  owner: NotificationOwner;
  target: NotificationView;
  showSecret: (secret: string) => void;
  deleted: () => void;
}

/** One notification: what it is about, what an admin can do with it, and its messages. */
export function Notification({ owner, target, showSecret, deleted }: NotificationProps) {
  const { id, name, enabled } = target;
  const [dialog, setDialog] = useState<'edit' | 'rotate' | 'delete'>();
  const [tested, setTested] = useState<string>();
  const test = useNotificationChange<Accepted>(owner, (delivery) => setTested(delivery.id));
  const toggle = useNotificationChange<NotificationView>(owner);
  const error = test.error ?? toggle.error;
  const path = [id];
  const props = { owner, target, close: () => setDialog(undefined) };
  return (
    <article
      aria-label={name}
      className="flex flex-col gap-4 rounded-lg border border-zinc-200 p-4 dark:border-zinc-800"
    >
      <h2 className="text-lg font-semibold wrap-anywhere">{name}</h2>
      <div className="flex flex-wrap gap-2">
        {enabled && (
          <Button
            look="primary"
            disabled={test.isPending}
            onClick={() => test.mutate({ path: [...path, 'test'], method: 'POST' })}
          >
            {words.test}
          </Button>
        )}
        <Button onClick={() => setDialog('edit')}>{words.edit}</Button>
        <Button
          disabled={toggle.isPending}
          onClick={() => toggle.mutate({ path, method: 'PATCH', body: { enabled: !enabled } })}
        >
          {enabled ? words.disable : words.enable}
        </Button>
        <Button onClick={() => setDialog('rotate')}>{words.rotate}</Button>
        <Button onClick={() => setDialog('delete')}>{words.delete}</Button>
      </div>
      {error && <ErrorNote error={error} />}
      {tested !== undefined && <TestResult key={tested} owner={owner} target={id} delivery={tested} />}
      <Facts
        facts={[
          [words.target, originOf(target.url)],
          [words.events, target.events.map(shortEvent).join(', ')],
          [words.apps, owner.project !== undefined && (target.apps?.join(', ') ?? words.all)],
          [words.environments, owner.project !== undefined && (target.environments?.join(', ') ?? words.all)],
          [words.reason, target.disabledReason],
          [words.changed, <Time key="changed" at={target.updatedAt} />],
        ]}
      />
      <Command command={owner.command(enabled ? 'test' : 'enable', name)} />
      {enabled && <Command command={owner.command('disable', name)} />}
      <Deliveries owner={owner} target={target} />
      {dialog === 'edit' && <NotificationDialog {...props} />}
      {dialog === 'rotate' && <RotateDialog {...props} done={showSecret} />}
      {dialog === 'delete' && <DeleteNotificationDialog {...props} done={deleted} />}
    </article>
  );
}

/** What became of a test message. */
function TestResult({ owner, target, delivery }: { owner: NotificationOwner; target: string; delivery: string }) {
  const { data, error } = useQuery({
    ...deliveryQuery(owner, target, delivery),
    // The first attempt takes a moment.
    refetchInterval: ({ state }) => (state.data === undefined || state.data.attempts === 0 ? 1_000 : false),
  });
  if (error) return <ErrorNote error={error} />;
  if (!data || data.attempts === 0) return <Note look="warn">{words.testing}</Note>;
  const answer = answerOf(data);
  return data.status === 'delivered' ? (
    <Note look="good">{words.tested(answer)}</Note>
  ) : (
    <Note look="bad">{words.untested(answer)}</Note>
  );
}

/** The HTTP status or the error of the last attempt. */
function answerOf({ lastAttempt }: DeliveryView): string {
  return lastAttempt?.error ?? String(lastAttempt?.status ?? text.none);
}

const tones = { pending: 'busy', delivered: 'good', failed: 'bad' } as const;

function Deliveries({
  owner,
  target: { id: target, name, enabled },
}: {
  owner: NotificationOwner;
  target: NotificationView;
}) {
  const again = useNotificationChange<Accepted>(owner);
  const labels = words.deliveries;
  return (
    <section aria-label={labels.title} className="flex flex-col gap-3">
      <h3 className="font-semibold">{labels.title}</h3>
      {again.error && <ErrorNote error={again.error} />}
      <Loaded query={useQuery(deliveriesQuery(owner, target))}>
        {({ items }) =>
          items.length === 0 ? (
            <Empty title={labels.empty} hint={labels.emptyHint} command={owner.command('test', name)} />
          ) : (
            <>
              <table className="w-full text-sm">
                <Cells
                  heads={[
                    { title: labels.created },
                    { title: labels.type, wide: true },
                    ...(owner.project === undefined ? [] : [{ title: labels.deployment, wide: true }]),
                    { title: labels.status },
                    { title: labels.attempts, wide: true },
                    { title: labels.answer },
                    ...(enabled ? [{ title: labels.actions }] : []),
                  ]}
                />
                <tbody>
                  {items.map((delivery) => (
                    <tr key={delivery.id} className={rowLook}>
                      <th scope="row" className={`${cellLook} text-left font-normal`}>
                        <Time at={delivery.createdAt} />
                      </th>
                      <td className={wideCellLook}>{delivery.type}</td>
                      {owner.project !== undefined && <td className={wideCellLook}>{aboutOf(delivery)}</td>}
                      <td className={cellLook}>
                        <Badge tone={tones[delivery.status]}>{delivery.status}</Badge>
                      </td>
                      <td className={wideCellLook}>{delivery.attempts}</td>
                      <td className={`${cellLook} wrap-anywhere`}>{answerOf(delivery)}</td>
                      {enabled && (
                        <td className={cellLook}>
                          <Button
                            aria-label={labels.redeliverName(delivery.type, delivery.id)}
                            disabled={again.isPending}
                            onClick={() =>
                              again.mutate({ path: [target, 'deliveries', delivery.id, 'redeliver'], method: 'POST' })
                            }
                          >
                            {labels.redeliver}
                          </Button>
                        </td>
                      )}
                    </tr>
                  ))}
                </tbody>
              </table>
              <Command command={owner.command('deliveries', name)} />
            </>
          )
        }
      </Loaded>
    </section>
  );
}

function aboutOf({ app, revision, environment }: DeliveryView): string {
  if (app === undefined) return text.none;
  return words.deliveries.of(app, revision ?? 0, environment ?? text.none);
}
