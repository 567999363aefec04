import { useQuery } from '@tanstack/react-query';
import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import { useState } from 'react';
import type { DeliveryItem, DeliveryView } from '../../../../runtime/contracts/api/webhooks.ts';
import { useChange } from '../api/change.ts';
import { commandOf, placeFlags } from '../api/command.ts';
import type { Place } from '../api/queries.ts';
import { useMay } from '../api/role.ts';
import { Badge, State } from '../parts/badge.tsx';
import { Button } from '../parts/button.tsx';
import { Command, Empty } from '../parts/command.tsx';
import { Facts } from '../parts/facts.tsx';
import { Field, valueOf } from '../parts/field.tsx';
import { FormDialog } from '../parts/form-dialog.tsx';
import { Loaded } from '../parts/loaded.tsx';
import { ErrorNote } from '../parts/note.tsx';
import { cellLook, Cells, linkLook, rowLook, wideCellLook } from '../parts/page.tsx';
import { Time } from '../parts/time.tsx';
import { appSettingsText } from '../text/app-settings.ts';
import { appText } from '../text/apps.ts';
import { text } from '../text/common.ts';
import { appRoute } from './app.tsx';
import { deliveriesQuery, deliveryQuery } from './queries.ts';

const words = appSettingsText.deliveries;
const page = '/projects/$project/environments/$environment/apps/$app/webhook';
const tones = { accepted: 'good', duplicate: 'quiet', skipped: 'quiet', ignored: 'quiet', refused: 'bad' } as const;

interface AppProps {
  place: Place;
  app: string;
}

/** What senders have sent to the webhook of an app, and what became of it. One delivery is shown with its body. */
export function Deliveries({ place, app }: AppProps) {
  const mayDeploy = useMay(place.project, 'deployer');
  const { delivery } = useSearch({ from: `${appRoute}/webhook` });
  const navigate = useNavigate();
  const [tests, setTests] = useState(false);
  const show = (id: string) => void navigate({ to: page, params: { ...place, app }, search: { delivery: id } });
  return (
    <section aria-labelledby="deliveries" className="flex flex-col gap-4">
      <div className="flex flex-wrap items-center gap-2">
        <h2 id="deliveries" className="text-lg font-semibold">
          {words.title}
        </h2>
        <span className="flex-1" />
        {mayDeploy && <Button onClick={() => setTests(true)}>{words.test}</Button>}
      </div>
      {mayDeploy && delivery !== undefined && (
        <Delivery key={delivery} place={place} app={app} id={delivery} show={show} />
      )}
      <Loaded query={useQuery(deliveriesQuery(place, app))}>
        {({ items }) =>
          items.length === 0 ? (
            <Empty
              title={words.empty}
              hint={words.emptyHint}
              command={commandOf('app', 'webhook', 'test', app, ...placeFlags(place))}
            />
          ) : (
            <>
              <DeliveryTable place={place} app={app} items={items} linked={mayDeploy} />
              <Command command={commandOf('app', 'webhook', 'deliveries', app, ...placeFlags(place))} />
            </>
          )
        }
      </Loaded>
      {tests && <TestDialog place={place} app={app} close={() => setTests(false)} done={({ id }) => show(id)} />}
    </section>
  );
}

interface TableProps extends AppProps {
  items: readonly DeliveryItem[];
  /** Whether the user may see bodies. */
  linked: boolean;
}

function DeliveryTable({ place, app, items, linked }: TableProps) {
  return (
    <table className="w-full text-sm">
      <Cells
        heads={[
          { title: words.received },
          { title: words.sender, wide: true },
          { title: words.verdict },
          { title: words.result, wide: true },
          { title: words.reason },
        ]}
      />
      <tbody>
        {items.map(({ id, receivedAt, sender, event, verdict, revision, deploymentStatus, reason, actor }) => (
          <tr key={id} className={rowLook}>
            <th scope="row" className={`${cellLook} text-left font-normal`}>
              {linked ? (
                <Link to={page} params={{ ...place, app }} search={{ delivery: id }} className={linkLook}>
                  <Time at={receivedAt} />
                </Link>
              ) : (
                <Time at={receivedAt} />
              )}
            </th>
            <td className={wideCellLook}>
              {sender}
              {event !== undefined && ` (${event})`}
              {actor !== undefined && <span className="block text-xs">{words.by(actor)}</span>}
            </td>
            <td className={cellLook}>
              <Badge tone={tones[verdict]}>{verdict}</Badge>
            </td>
            <td className={wideCellLook}>
              {revision === undefined ? text.none : words.revision(revision)}{' '}
              {deploymentStatus && (
                <State state={deploymentStatus} label={appText.deployments.states[deploymentStatus]} />
              )}
            </td>
            <td className={cellLook}>{reason ?? text.none}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function Delivery({ place, app, id, show }: AppProps & { id: string; show: (id: string) => void }) {
  const redeliver = useChange<DeliveryView>(place, (view) => show(view.id));
  return (
    <Loaded query={useQuery(deliveryQuery(place, app, id))}>
      {(delivery) => (
        <article
          aria-label={words.delivery}
          className="flex flex-col gap-3 rounded-lg border border-zinc-200 p-4 dark:border-zinc-800"
        >
          <Facts facts={factsOf(delivery)} />
          <BodyText {...delivery} />
          {delivery.sender !== 'test' && (
            <div>
              <Button
                disabled={redeliver.isPending}
                onClick={() =>
                  redeliver.mutate({ path: ['apps', app, 'webhook', 'deliveries', id, 'redeliver'], method: 'POST' })
                }
              >
                {words.redeliver}
              </Button>
            </div>
          )}
          {redeliver.error && <ErrorNote error={redeliver.error} />}
          <Command
            command={commandOf(
              ...['app', 'webhook', delivery.sender === 'test' ? 'deliveries' : 'redeliver', app, id],
              ...placeFlags(place),
            )}
          />
        </article>
      )}
    </Loaded>
  );
}

function factsOf(delivery: DeliveryView) {
  const { id, receivedAt, verdict, status, reason, code, deliveryId, redeliveryOf, actor } = delivery;
  return [
    [words.delivery, id],
    [words.received, <Time key="received" at={receivedAt} />],
    [words.sender, actor === undefined ? delivery.sender : `${delivery.sender}, ${words.by(actor)}`],
    [words.event, delivery.event],
    [
      words.verdict,
      <Badge key="verdict" tone={tones[verdict]}>
        {verdict}
      </Badge>,
    ],
    [words.status, status],
    [words.code, code],
    [words.reason, reason],
    [words.deliveryId, deliveryId],
    [words.redeliveryOf, redeliveryOf],
    [words.result, delivery.revision !== undefined && words.revision(delivery.revision)],
  ] as const;
}

function BodyText({ body, bodyBytes }: DeliveryView) {
  const whole = new TextEncoder().encode(body).length >= bodyBytes;
  return (
    <div>
      <h3 className="text-sm font-semibold">{whole ? words.body : words.partOf(bodyBytes)}</h3>
      <pre
        tabIndex={0}
        className="mt-1 max-h-80 overflow-auto rounded-md bg-zinc-100 p-3 text-xs whitespace-pre-wrap dark:bg-zinc-900"
      >
        {body}
      </pre>
    </div>
  );
}

function TestDialog({
  place,
  app,
  close,
  done,
}: AppProps & { close: () => void; done: (delivery: DeliveryView) => void }) {
  const test = useChange<DeliveryView>(place, (delivery) => {
    close();
    done(delivery);
  });
  const filled = (form: HTMLFormElement) =>
    (['image', 'commit', 'branch'] as const)
      .map((name) => [name, valueOf(form, name)] as const)
      .filter(([, value]) => value !== '');
  const submit = (form: HTMLFormElement) =>
    test.mutate({ path: ['apps', app, 'webhook', 'test'], method: 'POST', body: Object.fromEntries(filled(form)) });
  const commandFor = (values: readonly (readonly [string, string])[]) => {
    const flags = values.flatMap(([name, value]) => [`--${name}`, value]);
    return commandOf('app', 'webhook', 'test', app, ...flags, ...placeFlags(place));
  };
  return (
    <FormDialog
      title={words.testTitle}
      close={close}
      action={words.test}
      command={commandFor([])}
      commandFor={(form) => commandFor(filled(form))}
      request={test}
      submit={submit}
    >
      <p>{words.testWhat}</p>
      <Field label={words.fields.image} name="image" maxLength={512} autoComplete="off" />
      <Field label={words.fields.commit} name="commit" maxLength={200} autoComplete="off" />
      <Field label={words.fields.branch} name="branch" maxLength={250} autoComplete="off" />
    </FormDialog>
  );
}
