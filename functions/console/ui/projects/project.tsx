import { useQuery } from '@tanstack/react-query';
import { Link, Outlet, useParams } from '@tanstack/react-router';
import { projectQuery } from '../api/queries.ts';
import { useMay } from '../api/role.ts';
import { State } from '../parts/badge.tsx';
import { buttonLook } from '../parts/button.tsx';
import { Loaded } from '../parts/loaded.tsx';
import { Heading } from '../parts/page.tsx';
import { accountText } from '../text/account.ts';
import { projectText as words } from '../text/project.ts';
import { tabLook, Tabs } from '../workloads/tabs.tsx';

const tabs = [
  { to: '/projects/$project', title: words.tabs.environments },
  { to: '/projects/$project/members', title: words.tabs.members },
  { to: '/projects/$project/settings', title: words.tabs.settings },
  // The last, because they appear once the role is known.
  { to: '/projects/$project/notifications', title: words.tabs.notifications },
  { to: '/projects/$project/audit', title: words.tabs.audit },
] as const;
/** Of these, the API shows nothing to other members. */
const tabsOfAdmins: readonly string[] = ['/projects/$project/notifications', '/projects/$project/audit'];

export const projectRoute = '/frame/projects/$project';

/** What all pages of a project share: its name and state, and the tabs. */
export function ProjectPage() {
  const { project } = useParams({ from: projectRoute });
  const query = useQuery(projectQuery(project));
  const isAdmin = useMay(project, 'admin');
  const shown = tabs.filter(({ to }) => isAdmin || !tabsOfAdmins.includes(to));
  return (
    <>
      <Heading title={project}>
        {query.data && <State state={query.data.status} />}
        <span className="flex-1" />
        <Link to="/account" search={{ project }} className={buttonLook()}>
          {accountText.tokens.title}
        </Link>
      </Heading>
      {query.data?.displayName !== undefined && (
        <p className="mb-4 text-sm text-zinc-600 wrap-anywhere dark:text-zinc-400">{query.data.displayName}</p>
      )}
      <Tabs label={words.kind}>
        {shown.map(({ to, title }) => (
          <Link key={to} to={to} params={{ project }} {...tabLook}>
            {title}
          </Link>
        ))}
      </Tabs>
      <Loaded query={query}>{() => <Outlet />}</Loaded>
    </>
  );
}
