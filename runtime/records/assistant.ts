import type { Database } from '../db/pool.ts';
import type { AssistantLevel } from '../domain/assistant.ts';
import type { Id } from '../domain/ids.ts';

/** The provider of the assistant, and what may be sent to it. */
export interface AssistantProvider {
  url: string;
  model: string;
  /** Sealed for the address; null without one. */
  key: string | null;
  level: AssistantLevel;
  networks: string[];
  messagesPerHour: number;
  tokensPerDay: number;
  createdAt: Date;
  updatedAt: Date;
}

const columns = `url, model, key, level, networks, messages_per_hour AS "messagesPerHour",
  tokens_per_day::double precision AS "tokensPerDay", created_at AS "createdAt", updated_at AS "updatedAt"`;

export async function findAssistantProvider(database: Database): Promise<AssistantProvider | undefined> {
  const { rows } = await database.query<AssistantProvider>({
    name: 'find-assistant-provider',
    text: `SELECT ${columns} FROM assistant_provider`,
  });
  return rows[0];
}

/** Writes the settings. @param settings.key undefined keeps the key if the address stays, since it is of that address only */
export async function setAssistantProvider(
  database: Database,
  settings: Omit<AssistantProvider, 'key' | 'createdAt' | 'updatedAt'> & { key: string | null | undefined },
): Promise<AssistantProvider> {
  const { url, model, key, level, networks, messagesPerHour, tokensPerDay } = settings;
  const { rows } = await database.query<AssistantProvider>(
    `INSERT INTO assistant_provider (url, model, key, level, networks, messages_per_hour, tokens_per_day)
     VALUES ($1, $2, $3, $4, $5, $6, $7)
     ON CONFLICT (id) DO UPDATE SET url = $1, model = $2, level = $4, networks = $5, messages_per_hour = $6,
       tokens_per_day = $7, updated_at = now(),
       key = CASE WHEN $8::boolean THEN $3 WHEN assistant_provider.url = $1 THEN assistant_provider.key END
     RETURNING ${columns}`,
    [url, model, key ?? null, level, networks, messagesPerHour, tokensPerDay, key !== undefined],
  );
  const [row] = rows;
  if (!row) throw new Error('nothing was written');
  return row;
}

/** @returns the provider that was deleted */
export async function deleteAssistantProvider(database: Database): Promise<AssistantProvider | undefined> {
  const { rows } = await database.query<AssistantProvider>(`DELETE FROM assistant_provider RETURNING ${columns}`);
  return rows[0];
}

/** Tokens that were used since a time, by all users and by one. */
export async function readAssistantTokens(
  database: Database,
  since: Date,
  userId: Id | null = null,
): Promise<{ all: number; own: number }> {
  const { rows } = await database.query<{ all: number; own: number }>(
    `SELECT COALESCE(sum(tokens), 0)::double precision AS "all",
       COALESCE(sum(tokens) FILTER (WHERE user_id = $2), 0)::double precision AS own
     FROM assistant_usage WHERE hour >= $1`,
    [since, userId],
  );
  return rows[0] ?? { all: 0, own: 0 };
}

/** Counts a message of a user in an hour. @returns false when the user has sent `max` messages in it */
export async function countAssistantMessage(database: Database, userId: Id, hour: Date, max: number): Promise<boolean> {
  const { rowCount } = await database.query(
    `INSERT INTO assistant_usage (user_id, hour, messages) VALUES ($1, $2, 1)
     ON CONFLICT (user_id, hour) DO UPDATE SET messages = assistant_usage.messages + 1
       WHERE assistant_usage.messages < $3`,
    [userId, hour, max],
  );
  return rowCount === 1;
}

/** Adds tokens of a user in an hour. */
export async function countAssistantTokens(database: Database, userId: Id, hour: Date, tokens: number): Promise<void> {
  await database.query(
    `INSERT INTO assistant_usage (user_id, hour, tokens) SELECT id, $2::timestamptz, $3::bigint FROM users WHERE id = $1
     ON CONFLICT (user_id, hour) DO UPDATE SET tokens = assistant_usage.tokens + $3::bigint`,
    [userId, hour, tokens],
  );
}
