import { useQuery } from '@tanstack/react-query';
import { Link, Outlet, useParams } from '@tanstack/react-router';
import { Crumbs } from '../environment/crumbs.tsx';
import { State } from '../parts/badge.tsx';
import { Loaded } from '../parts/loaded.tsx';
import { Heading } from '../parts/page.tsx';
import { text } from '../text/common.ts';
import { jobText } from '../text/jobs.ts';
import { logText } from '../text/logs.ts';
import { metricText } from '../text/metrics.ts';
import { viewQuery } from '../workloads/queries.ts';
import { tabLook, Tabs } from '../workloads/tabs.tsx';
import type { Workload } from '../workloads/workload.ts';

const base = '/projects/$project/environments/$environment/jobs/$job';
const { tabs } = jobText;

/** The job of the page. */
export function useJob(): Workload & { kind: 'job' } {
  const { job: name, ...place } = useParams({ from: '/frame/projects/$project/environments/$environment/jobs/$job' });
  return { place, kind: 'job', name };
}

/** What all pages of a job share: its name and state, and the tabs. */
export function JobPage() {
  const workload = useJob();
  const { place, name } = workload;
  const view = useQuery(viewQuery(workload));
  const params = { ...place, job: name };
  return (
    <>
      <Crumbs {...place} />
      <Heading title={name}>{view.data && <State state={view.data.status} />}</Heading>
      <Tabs label={text.kinds.job}>
        <Link to={base} params={params} {...tabLook}>
          {tabs.overview}
        </Link>
        <Link to={`${base}/runs`} params={params} {...tabLook}>
          {tabs.runs}
        </Link>
        <Link to={`${base}/logs`} params={params} {...tabLook}>
          {logText.tab}
        </Link>
        <Link to={`${base}/metrics`} params={params} {...tabLook}>
          {metricText.tab}
        </Link>
        <Link to={`${base}/variables`} params={params} {...tabLook}>
          {tabs.variables}
        </Link>
        <Link to={`${base}/settings`} params={params} {...tabLook}>
          {tabs.settings}
        </Link>
      </Tabs>
      <Loaded query={view}>{() => <Outlet />}</Loaded>
    </>
  );
}
