import { z } from 'zod';
import { gitProblems } from '../../domain/git-source.ts';
import { deploymentState, deploymentTrigger, timestamp } from './common.ts';

/** `PUT /api/v1/projects/{p}/apps/{a}/git`; what a part may be is `domain/git-source.ts`'s to say (422). */
export const gitSourceSet = z.strictObject({
  url: z.string().max(1000),
  branch: z.string().max(1000).default('main'),
  path: z.string().max(1000).optional(),
  dockerfile: z.string().max(1000).optional(),
  /**
   * What the server wants: a token over https, a key over ssh. Absent: what the source has stays, if its host does; null:
   * none.
   */
  credentials: z
    .union([
      z.strictObject({ token: z.string().min(1).max(10_000), username: z.string().min(1).max(200).optional() }),
      z.strictObject({ deployKey: z.string().min(1).max(20_000) }),
    ])
    .nullable()
    .optional(),
  /**
   * Over ssh: a known_hosts file, of which the server's keys are kept. Absent: what the source has stays, if its host does;
   * null: the key that the server shows next is believed and kept.
   */
  knownHosts: z.string().max(200_000).nullable().optional(),
});

/** `PUT` and `GET …/git`. Credentials are never shown. */
export const gitSourceView = z.object({
  configured: z.boolean(),
  url: z.string().optional(),
  branch: z.string().optional(),
  path: z.string().optional(),
  dockerfile: z.string().optional(),
  credentials: z.enum(['none', 'token', 'deploy-key']).optional(),
  /** The public half of the deploy key, for the repository; absent where its form does not tell. */
  deployKey: z.string().optional(),
  /** Over ssh: the keys that the server must prove one of, as they were given, or as it first showed them. */
  hostKeys: z.array(z.object({ type: z.string(), fingerprint: z.string(), given: z.boolean() })).optional(),
  /** The branch's newest commit that was seen. */
  commit: z.string().optional(),
  /** When the repository was last asked for it. */
  polledAt: timestamp.optional(),
  /** Why the last poll failed; absent when it did not. */
  error: z.string().optional(),
  /** What is wrong then: `unreachable` may pass, the others are for a person to mend. */
  problem: z.enum(gitProblems).optional(),
});

export type GitSourceView = z.infer<typeof gitSourceView>;

/** `POST …/git/builds`: builds a commit, or the branch as it is now. */
export const gitBuildCreate = z.strictObject({ commit: z.string().max(1000).optional() });

/** The items of `GET /api/v1/projects/{p}/builds`: deployments whose image is, or was to be, built. */
export const buildView = z.object({
  deploymentId: z.uuid(),
  app: z.string(),
  environment: z.string(),
  revision: z.int(),
  trigger: deploymentTrigger,
  commit: z.string().optional(),
  /** How far the build is; what then became of the deployment is `deploymentStatus`. */
  status: z.enum(['pending', 'building', 'succeeded', 'failed', 'superseded', 'cancelled']),
  deploymentStatus: deploymentState,
  reason: z.string().optional(),
  image: z.string().optional(),
  acceptedAt: timestamp,
  builtAt: timestamp.optional(),
});

export type BuildView = z.infer<typeof buildView>;

/** `GET /api/v1/projects/{p}/builds/{deployment}/logs?offset=`: what the build printed, from a place in the text on. */
export const buildLogView = z.object({
  log: z.string(),
  /** Where to read on: what was printed later begins here. */
  offset: z.int(),
  /** Whether more may come. */
  ended: z.boolean(),
  /** Whether the beginning was left out, since there was too much. */
  truncated: z.boolean(),
});

export type BuildLogView = z.infer<typeof buildLogView>;
