import { useQuery } from '@tanstack/react-query';
import { Link, useParams } from '@tanstack/react-router';
import { useState } from 'react';
import type { EnvironmentView } from '../../../../runtime/contracts/api/projects.ts';
import { commandOf } from '../api/command.ts';
import { projectQuery } from '../api/queries.ts';
import { useMay } from '../api/role.ts';
import { State } from '../parts/badge.tsx';
import { Button } from '../parts/button.tsx';
import { Command, Empty } from '../parts/command.tsx';
import { cellLook, Cells, linkLook, rowLook, wideCellLook } from '../parts/page.tsx';
import { useCreation } from '../shell/creation.ts';
import { projectText } from '../text/project.ts';
import { text } from '../text/common.ts';
import { CreateEnvironmentDialog, DeleteEnvironmentDialog, LimitsDialog } from './environment-dialogs.tsx';
import { projectRoute } from './project.tsx';

const words = projectText.environments;

interface Choice {
  action: 'limits' | 'delete';
  environment: EnvironmentView;
}

/** The environments of a project with their limits. */
export function Environments() {
  const { project } = useParams({ from: projectRoute });
  const view = useQuery(projectQuery(project)).data;
  const isAdmin = useMay(project, 'admin');
  const [creates, setCreates] = useCreation();
  const [choice, setChoice] = useState<Choice>();
  if (!view) return null;
  const mayChange = isAdmin && view.status !== 'deleting';
  const props = { project, close: () => setChoice(undefined) };
  return (
    <div className="flex flex-col gap-4">
      {mayChange && (
        <div>
          <Button look="primary" onClick={() => setCreates(true)}>
            {words.create}
          </Button>
        </div>
      )}
      {view.environments.length === 0 ? (
        <Empty
          title={words.empty}
          hint={words.emptyHint}
          command={commandOf('environment', 'create', 'prod', '--project', project)}
        />
      ) : (
        <>
          <EnvironmentTable
            project={project}
            environments={view.environments}
            {...(mayChange && { choose: setChoice })}
          />
          <Command command={commandOf('environment', 'list', '--project', project)} />
        </>
      )}
      {creates && mayChange && <CreateEnvironmentDialog project={project} close={() => setCreates(false)} />}
      {choice?.action === 'limits' && <LimitsDialog {...props} environment={choice.environment} />}
      {choice?.action === 'delete' && <DeleteEnvironmentDialog {...props} name={choice.environment.name} />}
    </div>
  );
}

interface TableProps {
  project: string;
  environments: readonly EnvironmentView[];
  choose?: (choice: Choice) => void;
}

function EnvironmentTable({ project, environments, choose }: TableProps) {
  return (
    <table className="w-full text-sm">
      <Cells
        heads={[
          { title: words.name },
          { title: words.status },
          { title: words.namespace, wide: true },
          { title: words.limits.cpu, wide: true },
          { title: words.limits.memory, wide: true },
          { title: words.limits.storage, wide: true },
          { title: words.limits.pods, wide: true },
          ...(choose ? [{ title: words.actions }] : []),
        ]}
      />
      <tbody>
        {environments.map((environment) => {
          const { name, namespace, message, limits } = environment;
          return (
            <tr key={name} className={rowLook}>
              <th scope="row" className={`${cellLook} text-left`}>
                <Link
                  to="/projects/$project/environments/$environment"
                  params={{ project, environment: name }}
                  className={linkLook}
                >
                  {name}
                </Link>
              </th>
              <td className={cellLook}>
                <State state={stateOf(environment)} />
                {message !== undefined && <p className="mt-1 text-xs">{message}</p>}
              </td>
              <td className={wideCellLook}>{namespace}</td>
              <td className={wideCellLook}>{limits?.cpu ?? text.none}</td>
              <td className={wideCellLook}>{limits?.memory ?? text.none}</td>
              <td className={wideCellLook}>{limits?.storage ?? text.none}</td>
              <td className={wideCellLook}>{limits?.pods ?? text.none}</td>
              {choose && (
                <td className={cellLook}>
                  {!environment.deleting && (
                    <span className="flex flex-wrap gap-2">
                      <Button
                        aria-label={words.changeName(name)}
                        onClick={() => choose({ action: 'limits', environment })}
                      >
                        {words.change}
                      </Button>
                      <Button
                        aria-label={words.deleteName(name)}
                        onClick={() => choose({ action: 'delete', environment })}
                      >
                        {words.delete}
                      </Button>
                    </span>
                  )}
                </td>
              )}
            </tr>
          );
        })}
      </tbody>
    </table>
  );
}

function stateOf({ ready, deleting = false }: EnvironmentView): string {
  if (deleting) return 'deleting';
  return ready ? 'ready' : 'creating';
}
