import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import type {
  AppView,
  DeploymentAccepted,
  DeploymentView,
  PromotionCreated,
} from '../../../../runtime/contracts/api/apps.ts';
import { ApiError, pathOf, request } from '../api/client.ts';
import { commandOf } from '../api/command.ts';
import { appQuery, listQuery, type Place } from '../api/queries.ts';
import { Button, buttonLook } from '../parts/button.tsx';
import { Select } from '../parts/choice.tsx';
import { Command } from '../parts/command.tsx';
import { Dialog } from '../parts/dialog.tsx';
import { Field, valueOf } from '../parts/field.tsx';
import { FormDialog } from '../parts/form-dialog.tsx';
import { ErrorNote, Note } from '../parts/note.tsx';
import { text } from '../text/common.ts';
import { promotionText as words } from '../text/promotion.ts';
import { secretsQuery } from '../workloads/queries.ts';
import { promotionWords, setUpOf } from './promotion.ts';
import { currentQuery } from './queries.ts';

interface PromoteProps {
  place: Place;
  app: AppView;
  /** The other environments of the project. */
  targets: readonly string[];
  close: () => void;
}

type Outcome = PromotionCreated | DeploymentAccepted;

/** Deploys what an app runs to another environment, and says what comes along and what cannot. */
export function PromoteDialog({ place, app, targets, close }: PromoteProps) {
  const client = useQueryClient();
  const [environment, setEnvironment] = useState(targets[0] ?? '');
  // The names of the secrets that have a value in the form, which alone keeps the values.
  const [filled, setFilled] = useState<ReadonlySet<string>>(new Set());
  const fill = (name: string, value: string) =>
    setFilled((names) => new Set([...[...names].filter((other) => other !== name), ...(value === '' ? [] : [name])]));
  const target: Place = { project: place.project, environment };
  const direction = { from: place.environment, to: environment };
  const existing = useQuery(appQuery(target, app.name));
  const secrets = useQuery(secretsQuery({ place, kind: 'app', name: app.name }));
  const current = useQuery(currentQuery(place, app.name));
  const secretNames = secrets.data?.items ?? [];
  const isMissing = existing.error instanceof ApiError && existing.error.status === 404;
  const promote = useMutation({
    mutationFn: (values: Readonly<Record<string, string>>) =>
      request<Outcome>(pathOf('projects', place.project, 'apps', app.name, 'promote'), {
        method: 'POST',
        body: {
          ...direction,
          // Only what the dialog shows: the app can run another image by now.
          revision: current.data?.revision,
          ...(isMissing && { create: true }),
          ...(Object.keys(values).length > 0 && { secrets: values }),
        },
      }),
    onError: async (error) => {
      if (error instanceof ApiError && error.status === 409) await current.refetch();
    },
    onSuccess: () => client.invalidateQueries({ queryKey: ['project', place.project, environment] }),
    gcTime: 0,
  });
  const submit = (form: HTMLFormElement) => {
    const values = secretNames.map(({ name }, index) => [name, valueOf(form, `secret-${index}`)] as const);
    promote.mutate(isMissing ? Object.fromEntries(values.filter(([, value]) => value !== '')) : {});
  };
  const promotion = {
    app: app.name,
    create: isMissing,
    secrets: secretNames.map(({ name }) => name).filter((name) => filled.has(name)),
  };
  if (promote.data) return <Promoted target={target} app={app.name} outcome={promote.data} close={close} />;
  return (
    <FormDialog
      title={words.title(app.name)}
      close={close}
      action={words.promote}
      waits={current.isPending || existing.isPending || (isMissing && secrets.isPending)}
      // Until it is known what runs here, whether the app exists there, and which secrets a new one needs, nothing is sent.
      disabled={
        current.data?.revision === undefined || (isMissing ? secrets.data === undefined : existing.data === undefined)
      }
      command={commandOf(...promotionWords({ ...direction, ...promotion }), '--project', place.project)}
      request={promote}
      submit={submit}
    >
      <Select
        label={words.target}
        value={environment}
        options={targets.map((value) => ({ value }))}
        onChange={(event) => {
          promote.reset();
          setEnvironment(event.target.value);
          setFilled(new Set());
        }}
      />
      {existing.error && !isMissing && <ErrorNote error={existing.error} />}
      {current.error && <ErrorNote error={current.error} />}
      {current.data === null && <Note look="warn">{words.nothing(place.environment)}</Note>}
      {current.data && existing.data && !isMissing && <Update current={current.data} target={existing.data} />}
      {isMissing && secrets.error && <ErrorNote error={secrets.error} />}
      {current.data && isMissing && <Creation source={app} current={current.data} target={target} />}
      {isMissing && secretNames.length > 0 && (
        <fieldset key={environment} className="flex flex-col gap-3">
          <legend className="mb-1 font-medium">{words.secrets}</legend>
          <p>{words.secretsHint(environment)}</p>
          {secretNames.map(({ name }, index) => (
            <Field
              key={name}
              label={words.secret(name)}
              name={`secret-${index}`}
              type="password"
              autoComplete="off"
              onChange={(event) => fill(name, event.target.value)}
            />
          ))}
        </fieldset>
      )}
    </FormDialog>
  );
}

function Line({ title, children }: { title: string; children: React.ReactNode }) {
  return (
    <p>
      <strong>{title}:</strong> {children}
    </p>
  );
}

/** What is promoted. */
function Current({ current: { image, revision = 0 } }: { current: DeploymentView }) {
  return (
    <Line title={words.image}>
      <code>{image}</code> {words.revision(revision)}
    </Line>
  );
}

function Update({ current, target }: { current: DeploymentView; target: AppView }) {
  return (
    <>
      <p>{words.deploys(target.environment)}</p>
      <Current current={current} />
      {target.image !== '' && (
        <Line title={words.now(target.environment)}>
          <code>{target.image}</code>
        </Line>
      )}
      <Line title={words.comes}>{words.comesImage}</Line>
      <Line title={words.stays}>{words.staysList}</Line>
    </>
  );
}

function Creation({ source, current, target }: { source: AppView; current: DeploymentView; target: Place }) {
  const services = useQuery(listQuery('services', target)).data;
  const volumes = useQuery(listQuery('volumes', target)).data;
  const isComplete = services?.nextCursor === undefined && volumes?.nextCursor === undefined;
  const missingOf = (needed: readonly string[], items: readonly { name: string }[] | undefined) =>
    items && isComplete ? needed.filter((name) => !items.some((item) => item.name === name)) : [];
  const bound = (source.bindings ?? []).map(({ service }) => service);
  const missingServices = missingOf(bound, services?.items);
  const mounted = source.volumes.map(({ name }) => name);
  const missingVolumes = missingOf(mounted, volumes?.items);
  return (
    <>
      <p>{words.creates(target.environment)}</p>
      <Current current={current} />
      <Line title={words.comes}>{words.comesSettings}</Line>
      <Line title={words.cannot}>{words.cannotList}</Line>
      {missingServices.length > 0 && (
        <Note look="warn">{words.servicesMissing(target.environment, missingServices.join(', '))}</Note>
      )}
      {missingVolumes.length > 0 && (
        <Note look="warn">{words.volumesMissing(target.environment, missingVolumes.join(', '))}</Note>
      )}
    </>
  );
}

interface PromotedProps {
  target: Place;
  app: string;
  outcome: Outcome;
  close: () => void;
}

/** What was accepted, and what the new app still lacks, with the commands to set it up. */
function Promoted({ target, app, outcome, close }: PromotedProps) {
  const { environment } = target;
  return (
    <Dialog title={words.title(app)} close={close}>
      <div className="flex flex-col gap-3 text-sm">
        <Note look="good">
          {'revision' in outcome ? words.accepted(outcome.revision, environment) : words.created(environment)}
        </Note>
        {'notCopied' in outcome && <NotCopied target={target} created={outcome} />}
        <div className="flex flex-wrap justify-end gap-2">
          <Button onClick={close}>{text.close}</Button>
          <Link
            to="/projects/$project/environments/$environment/apps/$app"
            params={{ ...target, app }}
            onClick={close}
            className={buttonLook('primary')}
          >
            {words.show(app, environment)}
          </Link>
        </div>
      </div>
    </Dialog>
  );
}

function NotCopied({ target, created }: { target: Place; created: PromotionCreated }) {
  const items = setUpOf(target, created);
  if (items.length === 0) return null;
  return (
    <>
      <h3 className="font-semibold">{words.notCopied}</h3>
      <ul className="flex flex-col gap-2">
        {items.map(({ what, command }) => (
          <li key={what} className="flex flex-col gap-1">
            {what}
            {command !== undefined && <Command command={command} />}
          </li>
        ))}
      </ul>
    </>
  );
}
