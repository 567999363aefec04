import { z } from 'zod';
import { idPageQuery, page } from '../../runtime/contracts/api/common.ts';
import { tokenCreate, tokenCreated, tokenView } from '../../runtime/contracts/api/tokens.ts';

const project = z.object({ project: z.string().max(100) });
/** By name or id. */
const token = project.extend({ token: z.string().max(100) });

export const createTokenSchema = { params: project, body: tokenCreate, replies: { 201: tokenCreated } } as const;
export const listTokensSchema = { params: project, query: idPageQuery, replies: { 200: page(tokenView) } } as const;
export const getTokenSchema = { params: token, replies: { 200: tokenView } } as const;
export const revokeTokenSchema = { params: token, replies: { 204: null } } as const;
