import { z } from 'zod';
import { page, pageQuery } from '../../runtime/contracts/api/common.ts';
import {
  passwordChange,
  passwordReset,
  userCreate,
  userUpdate,
  userView,
  userWithPassword,
} from '../../runtime/contracts/api/users.ts';

/** By e-mail address or id. */
const user = z.object({ user: z.string().max(320) });

export const createUserSchema = { body: userCreate, replies: { 201: userWithPassword } } as const;
export const listUsersSchema = { query: pageQuery, replies: { 200: page(userView) } } as const;
export const getUserSchema = { params: user, replies: { 200: userView } } as const;
export const updateUserSchema = { params: user, body: userUpdate, replies: { 200: userView } } as const;
export const resetPasswordSchema = { params: user, body: passwordReset, replies: { 200: userWithPassword } } as const;
export const deleteUserSchema = { params: user, replies: { 204: null } } as const;
export const changePasswordSchema = { body: passwordChange, replies: { 204: null } } as const;
