import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { projectQuery } from '../api/queries.ts';
import { linkLook } from '../parts/page.tsx';
import { useFindPath } from '../shell/places.ts';
import { assistantText as words } from '../text/assistant.ts';
import type { Source } from './exchange.ts';
import { deploymentQuery } from './queries.ts';
import { pathOfDeployment, pathOfSource, type Target } from './source-path.ts';

interface SourcesProps {
  project: string;
  sources: readonly Source[];
  /** The panel covers the page on a narrow screen, and closes. */
  followed: () => void;
}

/** What an answer rests on, as links to pages of the console. They come from calls of tools, never from a model's text. */
export function Sources({ project, sources, followed }: SourcesProps) {
  const find = useFindPath();
  const environments = useQuery(projectQuery(project)).data?.environments.map(({ name }) => name) ?? [];
  if (sources.length === 0) return null;
  return (
    <div>
      <p className="font-medium">{words.basedOn}</p>
      <ul className="list-disc pl-6">
        {sources.map((source) => (
          <li key={JSON.stringify(source)}>
            {source.kind === 'deployment' ? (
              <DeploymentSource source={source} followed={followed} />
            ) : (
              <SourceLink
                target={pathOfSource(find, source, environments)}
                title={titleOf(source)}
                followed={followed}
              />
            )}
            {source.environment !== undefined && ` (${source.environment})`}
          </li>
        ))}
      </ul>
    </div>
  );
}

/** Of a deployment, an answer knows the id: its page needs the app and the revision. */
function DeploymentSource({ source, followed }: { source: Source; followed: () => void }) {
  const { project, name: id } = source;
  const find = useFindPath();
  const { data } = useQuery(deploymentQuery(project, id));
  const title = data?.revision === undefined ? titleOf(source) : words.revision(data.app, data.revision);
  return (
    <SourceLink
      target={data && pathOfDeployment(find, { project, environment: source.environment, ...data })}
      title={title}
      followed={followed}
    />
  );
}

function titleOf({ kind, name, time }: Source): string {
  return time === undefined ? `${words.kinds[kind]} ${name}` : words.logLine(name, time);
}

function SourceLink({ target, title, followed }: { target: Target | undefined; title: string; followed: () => void }) {
  if (!target) return title;
  const { path } = target;
  // The router has this path with these parameters, which only its types cannot know.
  const search: object = target.search ?? {};
  return (
    <Link to={path as '/'} search={search} className={linkLook} onClick={followed}>
      {title}
    </Link>
  );
}
