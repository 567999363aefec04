import { z } from 'zod';
import { tokenScopes } from '../../domain/token-scopes.ts';
import { platformRoles, projectRoles } from '../../domain/roles.ts';
import { timestamp } from './common.ts';

/** The path at which a user signs in, which is open to everyone. */
export const signInPath = '/api/v1/session';
/** Largest body of a request to {@link signInPath}, in bytes. The ingress refuses a larger one before it reaches the API. */
export const signInBodyLimit = 8 * 1024;

/** `POST /api/v1/session` */
export const sessionCreate = z.strictObject({
  email: z.string().max(320),
  password: z.string().min(1).max(1024),
  /** The `device` of an earlier sign-in: guesses of others do not slow down this one. */
  device: z.string().max(500).optional(),
});

/** 201: the bearer token is only returned here. */
export const sessionCreated = z.object({
  token: z.string(),
  /** To send with the next sign-in of this user on this device. */
  device: z.string().optional(),
  email: z.string(),
  expiresAt: timestamp,
  passwordChangeRequired: z.boolean().optional(),
});

/** `GET /api/v1/session`: the signed-in user, or the access token of the request and the user for whom it acts. */
export const sessionView = z.object({
  email: z.string(),
  role: z.enum(platformRoles),
  /** The user signed in with a one-time password and must set a new one before anything else. */
  passwordChangeRequired: z.boolean().optional(),
  /** Of a request with an access token. */
  token: z
    .object({
      name: z.string(),
      project: z.string(),
      /** The only environment that the token opens; absent: all environments of the project. */
      environment: z.string().optional(),
      scopes: z.array(z.enum(tokenScopes)),
      /** The user's current role in the project, which the token cannot exceed; absent without one. */
      projectRole: z.enum(projectRoles).optional(),
      expiresAt: timestamp,
    })
    .optional(),
});

/** An item of `GET /api/v1/account/sessions`: where the user is signed in. */
export const accountSession = z.object({
  id: z.uuid(),
  /** The browser and operating system that signed in, or `svc`; absent when it is not known. */
  client: z.string().optional(),
  createdAt: timestamp,
  /** With an accuracy of a minute; absent before the first use. */
  lastUsedAt: timestamp.optional(),
  expiresAt: timestamp,
  /** Whether it is the session of the request. */
  current: z.boolean(),
});

export type AccountSession = z.infer<typeof accountSession>;

/** 200 of `DELETE /api/v1/account/sessions`. */
export const sessionsEnded = z.object({ ended: z.int() });

/**
 * The name of the cookie with the token for browsers. With the prefix, browsers accept it only from the API's own host,
 * over https; without, another host of the same domain could set it. Pure.
 * @param baseUrl the API's public address
 */
export function sessionCookieName(baseUrl: string): string {
  return hostCookieName(baseUrl, 'svc_session');
}

/** The name of the cookie with the device token, which outlives sessions. Pure. */
export function deviceCookieName(baseUrl: string): string {
  return hostCookieName(baseUrl, 'svc_device');
}

function hostCookieName(baseUrl: string, name: string): string {
  return baseUrl.startsWith('https:') ? `__Host-${name}` : name;
}
