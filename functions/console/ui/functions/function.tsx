import { useQuery } from '@tanstack/react-query';
import { Link, Outlet, useParams } from '@tanstack/react-router';
import type { FunctionView } from '../../../../runtime/contracts/api/functions.ts';
import { useChange } from '../api/change.ts';
import { useMay } from '../api/role.ts';
import { Crumbs } from '../environment/crumbs.tsx';
import { State } from '../parts/badge.tsx';
import { Button, buttonLook } from '../parts/button.tsx';
import { Loaded } from '../parts/loaded.tsx';
import { ErrorNote, Note } from '../parts/note.tsx';
import { Heading } from '../parts/page.tsx';
import { text } from '../text/common.ts';
import { functionText } from '../text/functions.ts';
import { logText } from '../text/logs.ts';
import { metricText } from '../text/metrics.ts';
import { workloadText } from '../text/workloads.ts';
import { viewQuery } from '../workloads/queries.ts';
import { tabLook, Tabs } from '../workloads/tabs.tsx';
import { pathBelow, type Workload } from '../workloads/workload.ts';

const base = '/projects/$project/environments/$environment/functions/$function';
const { tabs } = functionText;

/** The function of the page. */
export function useFunction(): Workload & { kind: 'function' } {
  const { function: name, ...place } = useParams({
    from: '/frame/projects/$project/environments/$environment/functions/$function',
  });
  return { place, kind: 'function', name };
}

/** What all pages of a function share: its name, state and actions, and the tabs. */
export function FunctionPage() {
  const workload = useFunction();
  const { place, name } = workload;
  const view = useQuery(viewQuery(workload));
  const params = { ...place, function: name };
  return (
    <>
      <Crumbs {...place} />
      <Heading title={name}>
        {view.data && <State state={view.data.status} />}
        <span className="flex-1" />
        {view.data && <Actions workload={workload} view={view.data} />}
      </Heading>
      <Tabs label={text.kinds.function}>
        <Link to={base} params={params} {...tabLook}>
          {tabs.overview}
        </Link>
        {view.data?.url !== undefined && (
          <Link to={`${base}/invoke`} params={params} {...tabLook}>
            {tabs.invoke}
          </Link>
        )}
        {view.data?.trigger === 'cron' && (
          <Link to={`${base}/runs`} params={params} {...tabLook}>
            {tabs.runs}
          </Link>
        )}
        {view.data?.events && (
          <Link to={`${base}/events`} params={params} {...tabLook}>
            {tabs.events}
          </Link>
        )}
        <Link to={`${base}/logs`} params={params} {...tabLook}>
          {logText.tab}
        </Link>
        <Link to={`${base}/metrics`} params={params} {...tabLook}>
          {metricText.tab}
        </Link>
        <Link to={`${base}/variables`} params={params} {...tabLook}>
          {tabs.variables}
        </Link>
        {view.data?.gate !== undefined && (
          <Link to={`${base}/gate`} params={params} {...tabLook}>
            {workloadText.gate.tab}
          </Link>
        )}
        <Link to={`${base}/settings`} params={params} {...tabLook}>
          {tabs.settings}
        </Link>
      </Tabs>
      <Loaded query={view}>{() => <Outlet />}</Loaded>
    </>
  );
}

function Actions({ workload, view: { url, trigger } }: { workload: Workload; view: FunctionView }) {
  const mayDeploy = useMay(workload.place.project, 'deployer');
  const restart = useChange<FunctionView>(workload.place);
  return (
    <>
      {mayDeploy && trigger !== 'cron' && (
        <Button
          onClick={() => restart.mutate({ path: pathBelow(workload, 'restart'), method: 'POST' })}
          disabled={restart.isPending}
        >
          {functionText.restart}
        </Button>
      )}
      {url !== undefined && /^https?:\/\//.test(url) && (
        <a href={url} target="_blank" rel="noreferrer" className={buttonLook()}>
          {functionText.open}
        </a>
      )}
      {restart.error && <ErrorNote error={restart.error} />}
      {restart.data && <Note look="good">{functionText.restarted}</Note>}
    </>
  );
}
