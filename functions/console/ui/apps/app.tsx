import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { Link, Outlet, useParams } from '@tanstack/react-router';
import { useState } from 'react';
import type { AppView, DeploymentAccepted } from '../../../../runtime/contracts/api/apps.ts';
import { pathOf, request } from '../api/client.ts';
import { appQuery, projectQuery, type Place } from '../api/queries.ts';
import { useMay } from '../api/role.ts';
import { Crumbs } from '../environment/crumbs.tsx';
import { State } from '../parts/badge.tsx';
import { Button, buttonLook } from '../parts/button.tsx';
import { Loaded } from '../parts/loaded.tsx';
import { ErrorNote, Note } from '../parts/note.tsx';
import { Heading } from '../parts/page.tsx';
import { appSettingsText } from '../text/app-settings.ts';
import { appText } from '../text/apps.ts';
import { text } from '../text/common.ts';
import { logText } from '../text/logs.ts';
import { metricText } from '../text/metrics.ts';
import { promotionText } from '../text/promotion.ts';
import { workloadText } from '../text/workloads.ts';
import { tabLook, Tabs } from '../workloads/tabs.tsx';
import { PromoteDialog } from './promote.tsx';
import { RolledBack } from './rolled-back.tsx';

const tabs = [
  { to: '/projects/$project/environments/$environment/apps/$app', title: appText.app.tabs.overview },
  { to: '/projects/$project/environments/$environment/apps/$app/deployments', title: appText.app.tabs.deployments },
  { to: '/projects/$project/environments/$environment/apps/$app/logs', title: logText.tab },
  { to: '/projects/$project/environments/$environment/apps/$app/metrics', title: metricText.tab },
  { to: '/projects/$project/environments/$environment/apps/$app/runs', title: appText.runs.tab },
  { to: '/projects/$project/environments/$environment/apps/$app/variables', title: appText.app.tabs.variables },
  { to: '/projects/$project/environments/$environment/apps/$app/gate', title: workloadText.gate.tab },
  { to: '/projects/$project/environments/$environment/apps/$app/webhook', title: appSettingsText.tabs.webhook },
  { to: '/projects/$project/environments/$environment/apps/$app/git', title: appSettingsText.tabs.git },
  { to: '/projects/$project/environments/$environment/apps/$app/settings', title: appSettingsText.tabs.settings },
] as const;

export const appRoute = '/frame/projects/$project/environments/$environment/apps/$app';

/** What all pages of an app share: its name, state and actions, and the tabs. */
export function AppPage() {
  const { app: name, ...place } = useParams({ from: appRoute });
  const app = useQuery(appQuery(place, name));
  return (
    <>
      <Crumbs {...place} />
      <Heading title={name}>
        {app.data && <State state={app.data.status} />}
        <span className="flex-1" />
        {app.data && <Actions place={place} app={app.data} />}
      </Heading>
      <Tabs label={text.kinds.app}>
        {tabs.map(({ to, title }) => (
          <Link key={to} to={to} params={{ ...place, app: name }} {...tabLook}>
            {title}
          </Link>
        ))}
      </Tabs>
      {app.data && <RolledBack place={place} app={name} />}
      <Loaded query={app}>{() => <Outlet />}</Loaded>
    </>
  );
}

function Actions({ place, app }: { place: Place; app: AppView }) {
  const { name, url } = app;
  const client = useQueryClient();
  const [promotes, setPromotes] = useState(false);
  const environments = useQuery(projectQuery(place.project)).data?.environments ?? [];
  const targets = environments.map((each) => each.name).filter((each) => each !== place.environment);
  const mayDeploy = useMay(place.project, 'deployer');
  const restart = useMutation({
    mutationFn: () =>
      request<DeploymentAccepted>(pathOf('projects', place.project, 'apps', name, 'restart'), {
        method: 'POST',
        query: { environment: place.environment },
      }),
    onSuccess: () => client.invalidateQueries({ queryKey: appQuery(place, name).queryKey }),
  });
  return (
    <>
      {mayDeploy && (
        <Button onClick={() => restart.mutate()} disabled={restart.isPending}>
          {appText.app.restart}
        </Button>
      )}
      {mayDeploy && targets.length > 0 && <Button onClick={() => setPromotes(true)}>{promotionText.promote}</Button>}
      {url !== undefined && /^https?:\/\//.test(url) && (
        <a href={url} target="_blank" rel="noreferrer" className={buttonLook()}>
          {appText.app.open}
        </a>
      )}
      {promotes && <PromoteDialog place={place} app={app} targets={targets} close={() => setPromotes(false)} />}
      {restart.error && <ErrorNote error={restart.error} />}
      {restart.data && <Note look="good">{appText.app.restarting(restart.data.revision)}</Note>}
    </>
  );
}
