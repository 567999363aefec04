import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { projectQuery, type Place } from '../api/queries.ts';
import { linkLook } from '../parts/page.tsx';
import { EnvironmentNavigation } from '../shell/navigation.tsx';
import { text } from '../text/common.ts';

/** Where the page is: the project, its environments as links, and the pages of the environment. */
export function Crumbs({ project, environment }: Place) {
  const { data } = useQuery(projectQuery(project));
  const names = data?.environments.map(({ name }) => name) ?? [environment];
  return (
    <div className="mb-4 flex flex-wrap items-baseline gap-x-8 gap-y-1 border-b border-zinc-200 pb-2 dark:border-zinc-800">
      <nav aria-label={text.environment.switch} className="flex flex-wrap items-baseline gap-x-3 gap-y-1 text-sm">
        <span>{project}</span>
        <span aria-hidden="true">/</span>
        {names.map((name) => (
          <Link
            key={name}
            to="/projects/$project/environments/$environment"
            params={{ project, environment: name }}
            className={name === environment ? 'font-semibold underline underline-offset-4' : linkLook}
            {...(name === environment && { 'aria-current': 'true' as const })}
          >
            {name}
          </Link>
        ))}
      </nav>
      <EnvironmentNavigation project={project} environment={environment} />
    </div>
  );
}
