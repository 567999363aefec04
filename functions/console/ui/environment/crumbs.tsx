import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { projectQuery, type Place } from '../api/queries.ts';
import { linkLook } from '../parts/page.tsx';
import { text } from '../text/common.ts';

/** Where the page is: the project, and its environments as links. */
export function Crumbs({ project, environment }: Place) {
  const { data } = useQuery(projectQuery(project));
  const names = data?.environments.map(({ name }) => name) ?? [environment];
  return (
    <nav aria-label={text.environment.switch} className="mb-2 flex flex-wrap items-center gap-x-3 gap-y-1 text-sm">
      <Link to="/" className={linkLook}>
        {text.projects.title}
      </Link>
      <span aria-hidden="true">/</span>
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
  );
}
