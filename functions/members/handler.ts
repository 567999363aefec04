import type { Pool } from 'pg';
import { z } from 'zod';
import type { MemberView, ReplacedRole } from '../../runtime/contracts/api/members.ts';
import { checkEmail, normaliseEmail } from '../../runtime/domain/email.ts';
import type { Id } from '../../runtime/domain/ids.ts';
import { Problem } from '../../runtime/domain/problem.ts';
import type { ProjectRole } from '../../runtime/domain/roles.ts';
import { pageOfRows } from '../../runtime/http/page.ts';
import { projectIdOf, route, sessionOf, type Route, type Session } from '../../runtime/http/route.ts';
import { removeInvitation, setInvitation } from '../../runtime/records/invitations.ts';
import {
  countOtherMembers,
  findRole,
  listMembers,
  removeMember,
  setMember,
  type Member,
} from '../../runtime/records/members.ts';
import { findUserByEmail, findUserById, type User } from '../../runtime/records/users.ts';
import { listMembersSchema, removeMemberSchema, setMemberSchema } from './schema.ts';

const tag = 'members';
const path = '/projects/:project/members';

/** Maximum number of members of a project, which bounds what can be stored for addresses without an account. */
const membersMax = 500;

type MemberFields = Pick<Member, 'email' | 'role' | 'createdAt'> & Partial<Pick<Member, 'userId' | 'enabled'>>;

/** Whether an address has an account, and which, is for platform admins only. */
function toView(
  { userId, email, role, enabled = true, createdAt }: MemberFields,
  { role: viewer }: Session,
): MemberView {
  const adminFields = viewer === 'admin' ? { ...(userId && { userId }), ...(!enabled && { disabled: true }) } : {};
  return { ...adminFields, email, role, since: createdAt.toISOString() };
}

/**
 * `/projects/{project}/members`: the users with a role in a project, and addresses that get one with their account. A
 * change applies from the user's next request.
 */
export function createMemberRoutes({ pool }: { pool: Pool }): Route[] {
  /** A user by address, or by the id of a member; platform admins may name every id. */
  const findUser = async (idOrEmail: string, projectId: Id, { role }: Session): Promise<User | undefined> => {
    if (!z.uuid().safeParse(idOrEmail).success) return findUserByEmail(pool, idOrEmail);
    const visible = role === 'admin' || (await findRole(pool, projectId, idOrEmail)) !== undefined;
    const user = visible ? await findUserById(pool, idOrEmail) : undefined;
    if (user) return user;
    throw new Problem('not_found', `The project has no member "${idOrEmail}". Name a new one by email address.`);
  };

  /** Gives an account or an address a role; the same for both, as far as the caller sees. */
  const setRole = async (
    projectId: Id,
    {
      user,
      email,
      role,
      replaces,
    }: { user: User | undefined; email: string; role: ProjectRole; replaces?: ReplacedRole },
  ): Promise<{ before: ProjectRole | undefined; member: MemberFields }> => {
    const changed = user && (await setMember(pool, projectId, user.id, role, replaces));
    if (changed) {
      await removeInvitation(pool, projectId, email);
      return changed;
    }
    const { before, invitation } = await setInvitation(pool, projectId, email, role, replaces);
    return { before, member: invitation };
  };

  return [
    route({
      ...listMembersSchema,
      method: 'GET',
      path,
      access: { project: 'viewer' },
      tag,
      summary: 'Lists the members of a project by email address.',
      async handle(request) {
        const { limit, cursor } = request.query;
        const session = sessionOf(request);
        const members = await listMembers(pool, projectIdOf(request), { limit: limit + 1, after: cursor });
        const toItem = (member: Member) => toView(member, session);
        return { status: 200, body: pageOfRows(members, limit, { cursorOf: ({ email }) => email, toItem }) };
      },
    }),
    route({
      ...setMemberSchema,
      method: 'PUT',
      path: `${path}/:user`,
      access: { project: 'admin' },
      tag,
      summary: 'Sets a user’s role in the project. An address without an account gets it when the account is created.',
      audit: 'member.set',
      async handle(request) {
        const { params, body } = request;
        const session = sessionOf(request);
        const projectId = projectIdOf(request);
        const user = await findUser(params.user, projectId, session);
        const email = user?.email ?? checkEmail(params.user);
        if ((await countOtherMembers(pool, projectId, email)) >= membersMax) {
          throw new Problem('invalid_value', `The project has the maximum of ${membersMax} members. Remove one first.`);
        }
        const { before, member } = await setRole(projectId, { user, email, ...body });
        const audit = {
          user: { ...(user && { id: user.id }), email },
          changes: { before: before ?? null, after: body.role },
        };
        return { status: 200, body: toView(member, session), audit: before !== body.role && audit };
      },
    }),
    route({
      ...removeMemberSchema,
      method: 'DELETE',
      path: `${path}/:user`,
      access: { project: 'admin' },
      tag,
      summary: 'Removes a user from the project.',
      audit: 'member.remove',
      async handle(request) {
        const { params } = request;
        const projectId = projectIdOf(request);
        const user = await findUser(params.user, projectId, sessionOf(request));
        const email = user?.email ?? normaliseEmail(params.user);
        const invited = await removeInvitation(pool, projectId, email);
        const before = (user && (await removeMember(pool, projectId, user.id))) ?? invited;
        if (before === undefined) {
          throw new Problem('not_found', `The project "${params.project}" has no member "${params.user}".`);
        }
        const audit = { user: { ...(user && { id: user.id }), email }, changes: { before, after: null } };
        return { status: 204, audit };
      },
    }),
  ];
}
