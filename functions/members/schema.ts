import { z } from 'zod';
import { page, pageQuery } from '../../runtime/contracts/api/common.ts';
import { memberSet, memberView } from '../../runtime/contracts/api/members.ts';

const project = z.object({ project: z.string().max(100) });
/** By e-mail address or id. */
const member = project.extend({ user: z.string().max(320) });

export const listMembersSchema = { params: project, query: pageQuery, replies: { 200: page(memberView) } } as const;
export const setMemberSchema = { params: member, body: memberSet, replies: { 200: memberView } } as const;
export const removeMemberSchema = { params: member, replies: { 204: null } } as const;
