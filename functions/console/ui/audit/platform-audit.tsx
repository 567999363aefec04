import { useQuery } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { projectsQuery } from '../api/queries.ts';
import { AuditList } from './audit-list.tsx';

const page = '/platform/audit';

/** The audit log of the platform and of all projects. */
export function PlatformAudit() {
  const search = useSearch({ from: '/frame/platform/audit' });
  const navigate = useNavigate();
  const { data } = useQuery(projectsQuery);
  const known = (data?.items ?? []).map(
    ({ name, environments }) => [name, environments.map((environment) => environment.name)] as const,
  );
  return (
    <AuditList search={search} known={new Map(known)} change={(next) => void navigate({ to: page, search: next })} />
  );
}
