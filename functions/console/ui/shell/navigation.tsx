import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { sessionQuery } from '../api/queries.ts';
import { shellText } from '../text/shell.ts';
import { adminPlaces, useFindPath, type PlaceName } from './places.ts';

const words = shellText.navigation;

/** The links of the header. Each page marks its own link for screen readers (`aria-current`). */
export function MainNavigation() {
  const isAdmin = useQuery(sessionQuery).data?.role === 'admin';
  return (
    <nav aria-label={words.main}>
      <PlaceLinks names={['projects', ...(isAdmin ? adminPlaces : []), 'account']} />
    </nav>
  );
}

/** The pages of an environment, and the settings of its project. */
export function EnvironmentNavigation(place: { project: string; environment: string }) {
  return (
    <nav aria-label={words.environment}>
      <PlaceLinks names={['overview', 'keys', 'plans', 'images', 'settings']} params={place} />
    </nav>
  );
}

const titles: Readonly<Partial<Record<PlaceName, string>>> = {
  projects: words.projects,
  platform: words.platform,
  users: words.users,
  account: words.account,
  overview: words.workloads,
  keys: words.keys,
  plans: words.plans,
  images: words.images,
  settings: words.settings,
};

function PlaceLinks({
  names,
  params,
}: {
  names: readonly PlaceName[];
  params?: Readonly<Record<string, string | undefined>>;
}) {
  const find = useFindPath();
  return (
    <ul className="flex flex-wrap gap-x-4 gap-y-1 text-sm">
      {names.map((name) => {
        const path = find(name, params);
        return (
          path !== undefined && (
            <li key={name}>
              {/* The router has this path, which only its types cannot know. */}
              <Link
                to={path as '/'}
                activeOptions={{ exact: !['platform', 'users', 'account'].includes(name) }}
                className="inline-block py-1 underline-offset-4"
                activeProps={{ className: 'font-semibold underline' }}
                inactiveProps={{ className: 'hover:underline' }}
              >
                {titles[name]}
              </Link>
            </li>
          )
        );
      })}
    </ul>
  );
}
