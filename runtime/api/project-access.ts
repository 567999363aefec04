import type { Pool } from 'pg';
import type { Stored } from '../contracts/kubernetes.ts';
import { kinds } from '../contracts/resources/kinds.ts';
import type { Project } from '../contracts/resources/project.ts';
import { includesScope } from '../domain/token-scopes.ts';
import { idLabel } from '../domain/labels.ts';
import { Problem } from '../domain/problem.ts';
import { includesRole } from '../domain/roles.ts';
import type { KubeClient, ObjectList, ObjectReader } from '../kube/kube-client.ts';
import { findRole, listAdmins, listRoles } from '../records/members.ts';
import {
  scopeMissing,
  usersOnly,
  type AuthorizeProject,
  type ProjectAccess,
  type ProjectGrant,
  type Session,
  type SessionToken,
} from '../http/route.ts';
import { readerFor } from './reader.ts';

export interface ProjectAccessControl {
  authorize: AuthorizeProject;
  /** The projects in which a user has a role; all projects for a platform admin. None for an access token. */
  visibleProjects: (session: Session) => Promise<ObjectList<Project>>;
}

/** The form of project names; other names are not sent to the API server. */
const nameShape = /^[a-z0-9-]{1,63}$/;
/** An id without a project, so that an unknown project takes the same reads as one without a role. */
const unusedId = '00000000-0000-7000-8000-000000000000';

/**
 * Authorizes requests by the roles in projects, and access tokens also by their scopes. Roles refer to the project's id and
 * are read for every request, so a token never has more rights than its user has now.
 */
export function createProjectAccess({
  kube,
  pool,
  findProject = (name, session) => readerOfProject(kube, session).get<Project>(kinds.Project, name),
}: {
  kube: Pick<KubeClient, 'get' | 'list' | 'copies'>;
  pool: Pool;
  /** Default: reads the Project from the copies, or from the API server. */
  findProject?: (name: string, session: Session) => Promise<Stored<Project> | undefined>;
}): ProjectAccessControl {
  return {
    async authorize(session, name, access) {
      const { token } = session;
      const project = nameShape.test(name) ? await findProject(name, session) : undefined;
      const projectId = project?.metadata.labels?.[idLabel];
      const platformRole = token?.userRole ?? session.role;
      const role = platformRole === 'admin' ? 'admin' : await findRole(pool, projectId ?? unusedId, session.userId);
      if (!project || role === undefined) throw noProject(name);
      if (token && token.projectId !== projectId) throw noProject(name);
      const limits = token ? admitToken(token, project, access) : {};
      const needed = access.project;
      if (includesRole(role, needed)) return { projectId, role, ...limits };
      const admins = projectId === undefined ? [] : await listAdmins(pool, projectId, 5);
      throw new Problem(
        'forbidden',
        `This requires the role "${needed}" in the project "${name}"; ${token ? 'the user of the access token has' : 'yours is'} "${role}". ` +
          `Ask ${admins.join(', ') || 'a platform admin'} for it.`,
        { details: { needs: needed, has: role, admins } },
      );
    },
    async visibleProjects(session) {
      if (session.token) return { items: [], resourceVersion: '0' };
      const all = await readerFor(kube, session).list<Project>(kinds.Project);
      if (session.role === 'admin') return all;
      const roles = await listRoles(pool, session.userId);
      return { ...all, items: all.items.filter(({ metadata }) => roles.has(metadata.labels?.[idLabel] ?? '')) };
    },
  };
}

/**
 * A copy may show a project that was deleted. It gives no rights then: roles and tokens refer to its id, and are deleted
 * before its name becomes free. What a token of one environment is limited to is only in the Project itself.
 */
function readerOfProject(kube: Pick<KubeClient, 'get' | 'list' | 'copies'>, session: Session): ObjectReader {
  return typeof session.token?.environmentId === 'string' ? kube : readerFor(kube, session);
}

/**
 * What an access token of the project is limited to on a route.
 * @throws Problem `scope_missing`; `forbidden` on a route that no token opens; `not_found` when its environment was deleted
 */
function admitToken(
  { scopes, environmentId, environment }: SessionToken,
  { metadata, spec }: Stored<Project>,
  { scope }: ProjectAccess,
): Pick<ProjectGrant, 'environment'> {
  if (scope === undefined) throw usersOnly();
  if (!includesScope(scopes, scope)) throw scopeMissing(scope);
  if (environmentId === null) return {};
  const current = spec.environments.find(({ id }) => id === environmentId);
  if (current) return { environment: current.name };
  throw new Problem(
    'not_found',
    `The environment "${environment}" of the project "${metadata.name}", to which the access token is limited, was deleted.`,
  );
}

/** The same message for an unknown project and for one in which the caller has no role. */
function noProject(name: string): Problem {
  const which = nameShape.test(name) ? `"${name}"` : 'with this name';
  return new Problem('not_found', `There is no project ${which}. List your projects with \`svc project list\`.`);
}
