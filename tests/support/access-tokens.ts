import type { Pool } from 'pg';
import type { TokenScope } from '../../runtime/domain/token-scopes.ts';
import type { Id } from '../../runtime/domain/ids.ts';
import { newId } from '../../runtime/domain/ids.ts';
import { insertToken } from '../../runtime/records/access-tokens.ts';
import type { Person } from './people.ts';

export interface TestToken {
  id: Id;
  name: string;
  /** The whole token. */
  text: string;
  /** The headers of requests with it. */
  headers: { authorization: string };
}

/** Creates an access token of a person for the project `shop`. */
export async function accessToken(
  pool: Pool,
  { id: userId }: Pick<Person, 'id'>,
  options: {
    projectId: Id;
    scopes: TokenScope[];
    project?: string;
    environment?: { id: Id; name: string };
    expiresAt?: Date;
  },
): Promise<TestToken> {
  const { projectId, scopes, project = 'shop', environment, expiresAt = new Date(Date.now() + 3_600_000) } = options;
  const { token, record } = await insertToken(
    pool,
    {
      name: `t-${newId().slice(-12)}`,
      projectId,
      project,
      environmentId: environment?.id ?? null,
      environment: environment?.name ?? null,
      scopes,
      expiresAt,
      userId,
    },
    new Date(),
  );
  return { id: record.id, name: record.name, text: token, headers: { authorization: `Bearer ${token}` } };
}
