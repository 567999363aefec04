import { useQuery } from '@tanstack/react-query';
import { useNavigate, useParams, useSearch } from '@tanstack/react-router';
import { projectQuery } from '../api/queries.ts';
import { useMay, useMayNot } from '../api/role.ts';
import { projectRoute } from '../projects/project.tsx';
import { auditText as words } from '../text/audit.ts';
import { AuditList } from './audit-list.tsx';

const page = '/projects/$project/audit';

/** The audit log of a project. Only admins of the project see it. */
export function ProjectAudit() {
  const { project } = useParams({ from: projectRoute });
  const isAdmin = useMay(project, 'admin');
  if (useMayNot(project, 'admin')) return <p className="text-sm">{words.onlyAdmins}</p>;
  return isAdmin && <Entries project={project} />;
}

function Entries({ project }: { project: string }) {
  const search = useSearch({ from: `${projectRoute}/audit` });
  const navigate = useNavigate();
  const { data } = useQuery(projectQuery(project));
  const environments = data?.environments.map(({ name }) => name) ?? [];
  return (
    <AuditList
      search={search}
      project={project}
      known={new Map([[project, environments]])}
      change={(next) => void navigate({ to: page, params: { project }, search: next })}
    />
  );
}
