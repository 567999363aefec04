import { z } from 'zod';
import { tokenScopes } from '../../domain/token-scopes.ts';
import { timestamp } from './common.ts';

const scope = z.enum(tokenScopes);

/**
 * `POST /api/v1/projects/{p}/tokens`: without `environment`, the token opens every environment of the project; `expiresAt` is
 * at most 366 days ahead, default 90 days.
 */
export const tokenCreate = z.strictObject({
  name: z.string().max(200),
  scopes: z.array(scope).min(1).max(tokenScopes.length),
  environment: z.string().max(100).optional(),
  expiresAt: z.iso.datetime({ offset: true }).optional(),
});

export const tokenView = z.object({
  id: z.uuid(),
  name: z.string(),
  /** The public part of the token, by which a leaked one is recognised. */
  handle: z.string(),
  /** The only environment that the token opens; absent: all environments of the project. */
  environment: z.string().optional(),
  scopes: z.array(scope),
  /** `inactive`: the user who created it is disabled or has no role in the project. */
  status: z.enum(['active', 'expired', 'inactive']),
  createdAt: timestamp,
  /** The user for whom the token acts. */
  createdBy: z.string(),
  expiresAt: timestamp,
  /** To the minute; absent: never. */
  lastUsedAt: timestamp.optional(),
});

export type TokenView = z.infer<typeof tokenView>;

/** 201: the token itself is only returned here. */
export const tokenCreated = tokenView.extend({ token: z.string() });
