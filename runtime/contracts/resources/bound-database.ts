import { createHash } from 'node:crypto';
import { Problem } from '../../domain/problem.ts';
import type { ServiceType } from './service.ts';

interface DatabaseRules {
  /** Bytes of a name at most. */
  max: number;
  shape: RegExp;
  /** What a name may be, for people. */
  words: string;
  /** Databases that belong to the server, or to the service's own user. */
  reserved: readonly string[];
}

const sql = {
  shape: /^[A-Za-z_][A-Za-z0-9_-]*$/,
  words: 'letters, digits, underscores and hyphens, not a digit first',
};

/**
 * Names of databases, and of buckets. https://www.postgresql.org/docs/current/sql-syntax-lexical.html
 * https://dev.mysql.com/doc/refman/8.4/en/identifier-length.html https://www.mongodb.com/docs/manual/reference/limits
 * https://docs.aws.amazon.com/AmazonS3/latest/userguide/bucketnamingrules.html
 */
const rules: Readonly<Partial<Record<ServiceType, DatabaseRules>>> = {
  postgres: { ...sql, max: 63, reserved: ['postgres', 'template0', 'template1'] },
  mysql: { ...sql, max: 64, reserved: ['mysql', 'information_schema', 'performance_schema', 'sys'] },
  mongodb: { ...sql, max: 63, reserved: ['admin', 'local', 'config'] },
  minio: {
    ...{ shape: /^(?!.*\.\.)[a-z0-9][a-z0-9.-]+[a-z0-9]$/, max: 63, reserved: [] },
    words: 'at least three lower-case letters, digits, hyphens and single dots',
  },
};

/**
 * The database that a binding leads to when it names none (spec.md §2.6): `<service>_<function>_<environment>`, with a
 * digest in place of its end where that is longer than the server allows; a bucket is called like the function. Names of
 * workloads have no underscore, so that no two make the same. Undefined for a type that has none. Pure.
 */
export function defaultDatabase(
  type: ServiceType,
  { service, name, environment }: { service: string; name: string; environment: string },
): string | undefined {
  const rule = rules[type];
  if (!rule) return undefined;
  // MinIO keeps a bucket of its own name to itself.
  if (type === 'minio') return name.length < 3 || name === 'minio' ? `fn-${name}` : name;
  return shortened(`${service}_${name}_${environment}`, rule.max);
}

/** A name within a server's limit, in bytes: a longer one ends with a digest of its whole. Pure. */
export function shortened(name: string, max: number): string {
  if (name.length <= max) return name;
  const digest = createHash('sha256').update(name).digest('hex').slice(0, 8);
  return `${name.slice(0, max - digest.length - 1)}_${digest}`;
}

/** Checks the database that somebody chose, in this field. @throws Problem `invalid_value` */
export function checkDatabase(type: ServiceType, database: string, field = 'database'): void {
  const rule = rules[type];
  if (!rule) throw refusal(`A service of type ${type} has no databases to choose from; leave it out.`, field);
  const what = type === 'minio' ? 'bucket' : 'database';
  if (!rule.shape.test(database) || database.length > rule.max) {
    throw refusal(
      `"${database.slice(0, 100)}" is no name of a ${what}: use ${rule.words}; ${rule.max} at most.`,
      field,
    );
  }
  if (rule.reserved.includes(database.toLowerCase())) {
    throw refusal(`The ${what} "${database}" is the server's own; choose another one.`, field);
  }
}

function refusal(message: string, field: string): Problem {
  return new Problem('invalid_value', message, { details: { field } });
}
