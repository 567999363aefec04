import type { Pool } from 'pg';
import { z } from 'zod';
import type { MemberView } from '../../runtime/contracts/api/members.ts';
import { Problem } from '../../runtime/domain/problem.ts';
import { pageOfRows } from '../../runtime/http/page.ts';
import { projectIdOf, route, type Route } from '../../runtime/http/route.ts';
import { listMembers, removeMember, setMember, type Member } from '../../runtime/records/members.ts';
import { findUserByEmail, findUserById, type User } from '../../runtime/records/users.ts';
import { listMembersSchema, removeMemberSchema, setMemberSchema } from './schema.ts';

const tag = 'members';
const path = '/projects/:project/members';

function toView({ userId, email, role, enabled, createdAt }: Member): MemberView {
  return { userId, email, role, ...(!enabled && { disabled: true }), since: createdAt.toISOString() };
}

/** `/projects/{project}/members`: the users with a role in a project. A change applies from the user's next request. */
export function createMemberRoutes({ pool }: { pool: Pool }): Route[] {
  const findUser = async (idOrEmail: string): Promise<User | undefined> =>
    z.uuid().safeParse(idOrEmail).success ? findUserById(pool, idOrEmail) : findUserByEmail(pool, idOrEmail);

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
        const members = await listMembers(pool, projectIdOf(request), { limit: limit + 1, after: cursor });
        return { status: 200, body: pageOfRows(members, limit, { cursorOf: ({ email }) => email, toItem: toView }) };
      },
    }),
    route({
      ...setMemberSchema,
      method: 'PUT',
      path: `${path}/:user`,
      access: { project: 'admin' },
      tag,
      summary: 'Sets a user’s role in the project.',
      audit: 'member.set',
      async handle(request) {
        const { params, body } = request;
        const user = await findUser(params.user);
        const changed = user && (await setMember(pool, projectIdOf(request), user.id, body.role));
        if (!changed) {
          throw new Problem(
            'not_found',
            `There is no user "${params.user}". A platform admin can create one: svc user create <email>.`,
          );
        }
        const { before, member } = changed;
        const audit = {
          user: { id: user.id, email: user.email },
          changes: { before: before ?? null, after: body.role },
        };
        return { status: 200, body: toView(member), audit: before !== body.role && audit };
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
        const user = await findUser(params.user);
        const before = user && (await removeMember(pool, projectIdOf(request), user.id));
        if (!user || before === undefined) {
          throw new Problem('not_found', `The project "${params.project}" has no member "${params.user}".`);
        }
        return { status: 204, audit: { user: { id: user.id, email: user.email }, changes: { before, after: null } } };
      },
    }),
  ];
}
