/** Of an app's history, only this many of the newest successful revisions are searched for images to keep. */
const historyMax = 500;
/**
 * The images that the live apps of some projects need: those of each app's current deployment, of its newest, which a
 * restart repeats, and of all in progress.
 */
export const neededImages = (projects: string) => `
  SELECT needed.image_id, w.project, w.environment, w.name AS app, needed.revision
  FROM workloads w CROSS JOIN LATERAL (
    (SELECT image_id, revision FROM deployments WHERE workload_id = w.id AND state = 'succeeded'
     ORDER BY revision DESC LIMIT 1)
    UNION ALL (SELECT image_id, revision FROM deployments WHERE workload_id = w.id AND revision IS NOT NULL
      AND image <> '' AND state NOT IN ('superseded', 'cancelled', 'skipped') ORDER BY revision DESC LIMIT 1)
    UNION ALL (SELECT image_id, revision FROM deployments WHERE workload_id = w.id AND ended_at IS NULL)
  ) AS needed
  WHERE w.project IN (${projects}) AND w.kind = 'App' AND w.deleted_at IS NULL AND needed.image_id IS NOT NULL`;

/** The newest images in the rollback history of each live app of some projects. */
export const keptImages = (projects: string, count: string) => `
  SELECT kept.image_id FROM workloads w CROSS JOIN LATERAL (
    SELECT image_id FROM (
      SELECT image_id, revision FROM deployments WHERE workload_id = w.id AND state = 'succeeded' AND image_id IS NOT NULL
      ORDER BY revision DESC LIMIT ${historyMax}) AS history
    GROUP BY image_id ORDER BY max(revision) DESC LIMIT ${count}) AS kept
  WHERE w.project IN (${projects}) AND w.kind = 'App' AND w.deleted_at IS NULL`;
