import type { Pool } from 'pg';
import { z } from 'zod';
import type { MemberView } from '../../runtime/contracts/api/members.ts';
import { Problem } from '../../runtime/domain/problem.ts';
import { pageOfRows } from '../../runtime/host/page.ts';
import { projectIdOf, route, sessionOf, type Route, type RouteRequest } from '../../runtime/host/route.ts';
import { listMembers, removeMember, setMember, type Member } from '../../runtime/records/members.ts';
import { findUserByEmail, findUserById, type User } from '../../runtime/records/users.ts';
import { listMembersSchema, removeMemberSchema, setMemberSchema } from './schema.ts';

const tag = 'members';
const path = '/projects/:project/members';

function toView({ userId, email, role, enabled, createdAt }: Member): MemberView {
  return { userId, email, role, ...(!enabled && { disabled: true }), since: createdAt.toISOString() };
}

function audit(
  request: Pick<RouteRequest<{ project: string }, unknown, unknown>, 'log' | 'session' | 'params' | 'grant'>,
  action: string,
  { id, email }: Pick<User, 'id' | 'email'>,
  changes: object,
): void {
  const project = { id: projectIdOf(request), name: request.params.project };
  request.log.info({ action, actor: sessionOf(request).email, project, user: { id, email }, changes }, 'member audit');
}

/** `/projects/{p}/members`: who may do what in a project; a change holds from the person's next request on. */
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
      summary: 'Lists the members of a project by address.',
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
      summary: 'Gives a user a role in the project, in place of the one before.',
      async handle(request) {
        const { params, body } = request;
        const user = await findUser(params.user);
        const changed = user && (await setMember(pool, projectIdOf(request), user.id, body.role));
        if (!changed) {
          throw new Problem(
            'not_found',
            `There is no user "${params.user}"; an admin of the platform creates one: svc user create <email>.`,
          );
        }
        const { before, member } = changed;
        if (before !== body.role) audit(request, 'member.set', user, { before: before ?? null, after: body.role });
        return { status: 200, body: toView(member) };
      },
    }),
    route({
      ...removeMemberSchema,
      method: 'DELETE',
      path: `${path}/:user`,
      access: { project: 'admin' },
      tag,
      summary: 'Takes a user’s role in the project.',
      async handle(request) {
        const { params } = request;
        const user = await findUser(params.user);
        const before = user && (await removeMember(pool, projectIdOf(request), user.id));
        if (!user || before === undefined) {
          throw new Problem('not_found', `The project "${params.project}" has no member "${params.user}".`);
        }
        audit(request, 'member.remove', user, { before, after: null });
        return { status: 204 };
      },
    }),
  ];
}
