import { useQuery } from '@tanstack/react-query';
import { useNavigate, useParams } from '@tanstack/react-router';
import { useState } from 'react';
import type { ProjectView } from '../../../../runtime/contracts/api/projects.ts';
import { useProjectChange } from '../api/change.ts';
import { commandOf } from '../api/command.ts';
import { projectQuery } from '../api/queries.ts';
import { useMay } from '../api/role.ts';
import { Command } from '../parts/command.tsx';
import { Facts } from '../parts/facts.tsx';
import { Time } from '../parts/time.tsx';
import { projectText } from '../text/project.ts';
import { DangerSection, DeletionDialog } from '../workloads/danger.tsx';
import { projectRoute } from './project.tsx';

const words = projectText.settings;

/** What a project is, and its deletion. */
export function Settings() {
  const { project } = useParams({ from: projectRoute });
  const view = useQuery(projectQuery(project)).data;
  const isAdmin = useMay(project, 'admin');
  if (!view) return null;
  return (
    <div className="flex flex-col gap-6">
      <Facts
        facts={[
          [words.name, view.name],
          [words.title, view.displayName],
          [words.role, view.role],
          [words.created, <Time key="created" at={view.createdAt} />],
        ]}
      />
      <Command command={commandOf('project', 'show', project)} />
      {isAdmin && view.status !== 'deleting' && <Deletion {...view} />}
    </div>
  );
}

function Deletion({ name, environments }: ProjectView) {
  const [open, setOpen] = useState(false);
  const navigate = useNavigate();
  const remove = useProjectChange<unknown>(name, () => void navigate({ to: '/' }));
  const effect = words.deleteWhat(environments.map((environment) => environment.name).join(', '));
  return (
    <DangerSection effect={effect} action={words.delete} open={() => setOpen(true)}>
      {open && (
        <DeletionDialog
          name={name}
          close={() => setOpen(false)}
          command={commandOf('project', 'delete', name)}
          request={remove}
          submit={() => remove.mutate({ path: [], method: 'DELETE' })}
        >
          <p>{effect}</p>
        </DeletionDialog>
      )}
    </DangerSection>
  );
}
