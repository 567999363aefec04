import { useQuery } from '@tanstack/react-query';
import { Link, Outlet, useParams } from '@tanstack/react-router';
import { Crumbs } from '../environment/crumbs.tsx';
import { State } from '../parts/badge.tsx';
import { Loaded } from '../parts/loaded.tsx';
import { Heading } from '../parts/page.tsx';
import { text } from '../text/common.ts';
import { metricText } from '../text/metrics.ts';
import { serviceText as words } from '../text/services.ts';
import { tabLook, Tabs } from '../workloads/tabs.tsx';
import { serviceQuery } from './queries.ts';

const base = '/projects/$project/environments/$environment/services/$service';

const serviceRoute = '/frame/projects/$project/environments/$environment/services/$service';

/** The service of the page. */
export function useService() {
  const { service: name, ...place } = useParams({ from: serviceRoute });
  return { place, kind: 'service', name } as const;
}

/** What all pages of a service share: its name and state, and the tabs of one that the platform runs. */
export function ServicePage() {
  const { place, name } = useService();
  const query = useQuery(serviceQuery(place, name));
  const params = { ...place, service: name };
  return (
    <>
      <Crumbs {...place} />
      <Heading title={name}>{query.data && <State state={query.data.status} />}</Heading>
      {query.data?.external === false && (
        <Tabs label={text.kinds.service}>
          <Link to={base} params={params} {...tabLook}>
            {words.overview}
          </Link>
          <Link to={`${base}/metrics`} params={params} {...tabLook}>
            {metricText.tab}
          </Link>
        </Tabs>
      )}
      <Loaded query={query}>{() => <Outlet />}</Loaded>
    </>
  );
}
