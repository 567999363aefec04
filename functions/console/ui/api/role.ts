import { useQuery } from '@tanstack/react-query';
import { includesRole, type ProjectRole } from '../../../../runtime/domain/roles.ts';
import { projectQuery } from './queries.ts';

/**
 * Whether the user may do what needs this role. Until it is known, and without it, a page has no button for it; the API
 * decides in any case.
 * @param project undefined where a page belongs to none
 */
export function useMay(project: string | undefined, needed: ProjectRole): boolean {
  const { data } = useQuery({ ...projectQuery(project ?? ''), enabled: project !== undefined });
  return data?.role !== undefined && includesRole(data.role, needed);
}

/** Whether it is known that the user may not do it: a page says so only then, and not while it reads the role. */
export function useMayNot(project: string, needed: ProjectRole): boolean {
  const { data } = useQuery(projectQuery(project));
  return data?.role !== undefined && !includesRole(data.role, needed);
}
