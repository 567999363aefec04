import type { Pool } from 'pg';
import { apiKeyDigest, generateApiKey, parseApiKey } from '../../../runtime/domain/api-key.ts';
import { newId, type Id } from '../../../runtime/domain/ids.ts';

/** The limits of the bench's plan, more than any machine sends, so that every verdict is complete. */
const plentiful = { rate: 1e9, burst: 1e9, quota: 1e15 };

const insertedAtOnce = 50_000;

export interface BenchKey {
  id: Id;
  key: string;
}

/** An app with keys on one plan, which has a rate, a burst and a monthly quota. */
export interface BenchRecords {
  appId: Id;
  keys: BenchKey[];
}

/** Creates an environment with an app and this many keys. */
export async function insertBenchRecords(
  pool: Pool,
  keyCount: number,
  limits: { rate: number; burst: number; quota: number } = plentiful,
): Promise<BenchRecords> {
  const [environmentId, planId, appId] = [newId(), newId(), newId()];
  await pool.query(
    `INSERT INTO plans (id, environment_id, name, requests_per_second, burst, quota_limit, quota_period)
     VALUES ($1, $2, 'bench', $3, $4, $5, 'month')`,
    [planId, environmentId, limits.rate, limits.burst, limits.quota],
  );
  await pool.query(
    `INSERT INTO workloads (id, kind, environment_id, project, environment, namespace, name, gated)
     VALUES ($1, 'App', $2, 'shop', 'prod', 'shop-prod', 'api', true)`,
    [appId, environmentId],
  );
  const keys = Array.from({ length: keyCount }, () => ({ id: newId(), key: generateApiKey().key }));
  for (let start = 0; start < keyCount; start += insertedAtOnce) {
    const inserted = keys.slice(start, start + insertedAtOnce);
    await pool.query(
      `INSERT INTO api_keys (id, environment_id, handle, digest, name, plan_id, created_by)
       SELECT id, $1, handle, digest, 'Customer ' || handle, $2, 'bench@example.com'
       FROM unnest($3::uuid[], $4::text[], $5::bytea[]) AS created (id, handle, digest)`,
      [
        environmentId,
        planId,
        inserted.map(({ id }) => id),
        inserted.map(({ key }) => parseApiKey(key)?.handle),
        inserted.map(({ key }) => apiKeyDigest(key)),
      ],
    );
  }
  return { appId, keys };
}
