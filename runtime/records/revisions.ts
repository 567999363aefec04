import type { OtherSettings, RevisionSettings } from '../contracts/resources/app-settings.ts';
import type { Database } from '../db/pool.ts';
import type { Id } from '../domain/ids.ts';
import type { Variable } from '../domain/variables.ts';
import { deploymentColumns, deploymentSource, type Deployment } from './deployments.ts';

/** A deployment with what was stored when it was rolled out. */
export interface Revision extends Deployment {
  revision: number;
  /** Null until its rollout starts, and when an older version of the platform deployed it. */
  settings: RevisionSettings | null;
  otherSettings: OtherSettings | null;
  /** The name of the environment Secret of its pods; null without variables. */
  envSecret: string | null;
}

/** Finds a revision of an app. */
export async function findRevision(
  database: Database,
  workloadId: Id,
  revision: number,
): Promise<Revision | undefined> {
  const { rows } = await database.query<Revision>(
    `SELECT ${deploymentColumns}, d.settings, d.other_settings AS "otherSettings", d.env_secret AS "envSecret"
     FROM ${deploymentSource} WHERE d.workload_id = $1 AND d.revision = $2`,
    [workloadId, revision],
  );
  return rows[0];
}

/** The revision that an app ran before another one: the newest earlier one that succeeded. */
export async function revisionBefore(
  database: Database,
  workloadId: Id,
  revision: number,
): Promise<number | undefined> {
  const { rows } = await database.query<{ revision: number | null }>(
    `SELECT max(revision) AS revision FROM deployments WHERE workload_id = $1 AND revision < $2 AND state = 'succeeded'`,
    [workloadId, revision],
  );
  return rows[0]?.revision ?? undefined;
}

/**
 * The variables from which the environment of a revision's pods was made; undefined when they were not stored. An
 * automatic rollback restores the environment of an earlier revision, but not the app's variables.
 */
export async function variablesOfRevision(
  database: Database,
  workloadId: Id,
  revision: number,
): Promise<Variable[] | undefined> {
  const { rows } = await database.query<{ settings: RevisionSettings | null }>(
    `WITH RECURSIVE origin AS (
       SELECT revision, rollback_of, restores, settings FROM deployments WHERE workload_id = $1 AND revision = $2
       UNION ALL
       SELECT earlier.revision, earlier.rollback_of, earlier.restores, earlier.settings
       FROM origin JOIN deployments earlier ON earlier.workload_id = $1 AND earlier.revision = origin.rollback_of
       WHERE origin.restores = 'environment' AND earlier.revision < origin.revision AND earlier.settings IS NOT NULL
     )
     SELECT settings FROM origin ORDER BY revision LIMIT 1`,
    [workloadId, revision],
  );
  const settings = rows[0]?.settings;
  return settings ? (settings.env ?? []) : undefined;
}
