import { z } from 'zod';
import { gitProblems } from '../../domain/git-source.ts';
import { deploymentState, deploymentTrigger, timestamp } from './common.ts';

/** `PUT /api/v1/projects/{p}/apps/{a}/git`; `domain/git-source.ts` validates the fields (422). */
export const gitSourceSet = z.strictObject({
  url: z.string().max(1000),
  branch: z.string().max(1000).default('main'),
  path: z.string().max(1000).optional(),
  dockerfile: z.string().max(1000).optional(),
  /**
   * A token for https, a private key for ssh. Absent: the current ones are kept if the host stays the same; null: no
   * credentials.
   */
  credentials: z
    .union([
      z.strictObject({ token: z.string().min(1).max(10_000), username: z.string().min(1).max(200).optional() }),
      z.strictObject({ deployKey: z.string().min(1).max(20_000) }),
    ])
    .nullable()
    .optional(),
  /**
   * For ssh: a known_hosts file with the server's keys. Absent: the current keys are kept if the host stays the same;
   * null: the key that the server presents next is trusted.
   */
  knownHosts: z.string().max(200_000).nullable().optional(),
});

/** `PUT` and `GET …/git`. Credentials are never returned. */
export const gitSourceView = z.object({
  configured: z.boolean(),
  url: z.string().optional(),
  branch: z.string().optional(),
  path: z.string().optional(),
  dockerfile: z.string().optional(),
  credentials: z.enum(['none', 'token', 'deploy-key']).optional(),
  /** The public key to add to the repository as a deploy key; absent if the private key's format does not contain it. */
  deployKey: z.string().optional(),
  /** For ssh: the accepted host keys, as set or as the server first presented them. */
  hostKeys: z.array(z.object({ type: z.string(), fingerprint: z.string(), given: z.boolean() })).optional(),
  /** The newest commit of the branch at the last poll. */
  commit: z.string().optional(),
  /** When the repository was last polled. */
  polledAt: timestamp.optional(),
  /** Why the last poll failed; absent if it succeeded. */
  error: z.string().optional(),
  /** The kind of failure: `unreachable` may be temporary, the others need a change of the settings. */
  problem: z.enum(gitProblems).optional(),
});

export type GitSourceView = z.infer<typeof gitSourceView>;

/** `POST …/git/builds`: builds a commit, or the newest commit of the branch. */
export const gitBuildCreate = z.strictObject({ commit: z.string().max(1000).optional() });

/** The items of `GET /api/v1/projects/{p}/builds`: deployments with a build. */
export const buildView = z.object({
  deploymentId: z.uuid(),
  app: z.string(),
  environment: z.string(),
  revision: z.int(),
  trigger: deploymentTrigger,
  commit: z.string().optional(),
  /** The status of the build; `deploymentStatus` is that of the deployment. */
  status: z.enum(['pending', 'building', 'succeeded', 'failed', 'superseded', 'cancelled']),
  deploymentStatus: deploymentState,
  reason: z.string().optional(),
  image: z.string().optional(),
  acceptedAt: timestamp,
  builtAt: timestamp.optional(),
});

export type BuildView = z.infer<typeof buildView>;

/** `GET /api/v1/projects/{p}/builds/{deployment}/logs?offset=`: the build's output from an offset on. */
export const buildLogView = z.object({
  log: z.string(),
  /** The offset of the next request. */
  offset: z.int(),
  /** Whether the build may print more. */
  ended: z.boolean(),
  /** Whether the beginning is missing because the output was too long. */
  truncated: z.boolean(),
});
