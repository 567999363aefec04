import type { Pool } from 'pg';
import type { Stored } from '../contracts/kubernetes.ts';
import { kinds } from '../contracts/resources/kinds.ts';
import type { Project } from '../contracts/resources/project.ts';
import { idLabel } from '../domain/labels.ts';
import { Problem } from '../domain/problem.ts';
import { includesRole } from '../domain/roles.ts';
import type { KubeClient } from '../kube/kube-client.ts';
import { findRole, listAdmins, listRoles } from '../records/members.ts';
import type { AuthorizeProject, Session } from './route.ts';

export interface ProjectAccessControl {
  authorize: AuthorizeProject;
  /** The projects in which a caller has any role; all of them for an admin of the platform. */
  visibleProjects: (session: Session) => Promise<Stored<Project>[]>;
}

/** What a project's name can look like; nothing else reaches the API server. */
const nameShape = /^[a-z0-9-]{1,63}$/;
/** The identity of no project, so that one that is not there costs what one without a role costs. */
const nobodysId = '00000000-0000-7000-8000-000000000000';

/** Who may do what in projects. Roles go by the project's identity and are read anew for every request. */
export function createProjectAccess({
  kube,
  pool,
}: {
  kube: Pick<KubeClient, 'get' | 'list'>;
  pool: Pool;
}): ProjectAccessControl {
  return {
    async authorize(session, name, needed) {
      const project = nameShape.test(name) ? await kube.get<Project>(kinds.Project, name) : undefined;
      const projectId = project?.metadata.labels?.[idLabel];
      const role = session.role === 'admin' ? 'admin' : await findRole(pool, projectId ?? nobodysId, session.userId);
      if (!project || role === undefined) throw noProject(name);
      if (includesRole(role, needed)) return { projectId, role };
      const admins = projectId === undefined ? [] : await listAdmins(pool, projectId, 5);
      throw new Problem(
        'forbidden',
        `This needs the role "${needed}" in the project "${name}", and yours is "${role}"; ` +
          `${admins.join(', ') || 'an admin of the platform'} can give it to you.`,
        { details: { needs: needed, has: role, admins } },
      );
    },
    async visibleProjects(session) {
      const { items } = await kube.list<Project>(kinds.Project);
      if (session.role === 'admin') return items;
      const roles = await listRoles(pool, session.userId);
      return items.filter(({ metadata }) => roles.has(metadata.labels?.[idLabel] ?? ''));
    },
  };
}

/** One answer for what is not there and for what the caller may not know of. */
function noProject(name: string): Problem {
  const which = nameShape.test(name) ? `"${name}"` : 'of this name';
  return new Problem('not_found', `There is no project ${which}; list them with \`svc project list\`.`);
}
