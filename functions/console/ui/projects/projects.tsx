import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { lazy, Suspense } from 'react';
import { commandOf } from '../api/command.ts';
import { projectsQuery } from '../api/queries.ts';
import { Badge, State } from '../parts/badge.tsx';
import { Button } from '../parts/button.tsx';
import { Command, Empty } from '../parts/command.tsx';
import { Loaded } from '../parts/loaded.tsx';
import { cellLook, Cells, Heading, linkLook, rowLook, wideCellLook } from '../parts/page.tsx';
import { Time } from '../parts/time.tsx';
import { useCreation } from '../shell/creation.ts';
import { text } from '../text/common.ts';

// The page is left without it most of the time, so the first load has none of it.
const NewProjectDialog = lazy(async () => ({ default: (await import('./new-project.tsx')).NewProjectDialog }));

/** The projects of the user, each with links to its page and its environments. */
export function Projects() {
  const words = text.projects;
  const [creates, setCreates] = useCreation();
  return (
    <>
      <Heading title={words.title}>
        <span className="flex-1" />
        <Button look="primary" onClick={() => setCreates(true)}>
          {words.create}
        </Button>
      </Heading>
      <Loaded query={useQuery(projectsQuery)}>
        {({ items, nextCursor }) =>
          items.length === 0 ? (
            <Empty title={words.empty} hint={words.emptyHint} command={commandOf('project', 'create', 'shop')} />
          ) : (
            <>
              <table className="mb-4 w-full text-sm">
                <Cells
                  heads={[
                    { title: words.name },
                    { title: words.environments },
                    { title: words.status, wide: true },
                    { title: words.created, wide: true },
                  ]}
                />
                <tbody>
                  {items.map(({ name, displayName, environments, status, createdAt }) => (
                    <tr key={name} className={rowLook}>
                      <th scope="row" className={`${cellLook} text-left font-medium`}>
                        <Link to="/projects/$project" params={{ project: name }} className={linkLook}>
                          {name}
                        </Link>
                        {displayName !== undefined && (
                          <span className="block font-normal text-zinc-600 wrap-anywhere dark:text-zinc-400">
                            {displayName}
                          </span>
                        )}
                      </th>
                      <td className={cellLook}>
                        <ul className="flex flex-wrap gap-x-4 gap-y-1">
                          {environments.map(({ name: environment, ready }) => (
                            <li key={environment} className="flex items-center gap-2">
                              <Link
                                to="/projects/$project/environments/$environment"
                                params={{ project: name, environment }}
                                className={linkLook}
                              >
                                {environment}
                              </Link>
                              {!ready && <Badge tone="warn">{words.notReady}</Badge>}
                            </li>
                          ))}
                        </ul>
                      </td>
                      <td className={wideCellLook}>
                        <State state={status} />
                      </td>
                      <td className={wideCellLook}>
                        <Time at={createdAt} />
                      </td>
                    </tr>
                  ))}
                </tbody>
              </table>
              {nextCursor !== undefined && <p className="mb-4 text-sm">{text.errors.partial}</p>}
              <Command command={commandOf('project', 'list')} />
            </>
          )
        }
      </Loaded>
      <Suspense>{creates && <NewProjectDialog close={() => setCreates(false)} />}</Suspense>
    </>
  );
}
