import { createHash } from 'node:crypto';
import { Problem } from '../../domain/problem.ts';
import type { ServiceType } from './service.ts';

interface DatabaseRules {
  /** Maximum length of a name in bytes. */
  max: number;
  shape: RegExp;
  /** The rule for names, as shown to people. */
  words: string;
  /** Databases of the server or of the service's admin user. */
  reserved: readonly string[];
}

const sql = {
  shape: /^[A-Za-z_][A-Za-z0-9_-]*$/,
  words: 'letters, digits, underscores and hyphens, not starting with a digit',
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
    shape: /^(?!.*\.\.)[a-z0-9][a-z0-9.-]+[a-z0-9]$/,
    max: 63,
    reserved: [],
    words: 'at least three lower-case letters, digits, hyphens and single dots',
  },
};

/**
 * The default database of a binding: `<service>_<workload>_<environment>`. A name that is too long for the server ends
 * in a digest instead. A bucket has the workload's name. Names of workloads contain no underscore, so the names of two
 * workloads always differ. Undefined for a type without databases. Pure.
 */
export function defaultDatabase(
  type: ServiceType,
  { service, name, environment }: { service: string; name: string; environment: string },
): string | undefined {
  const rule = rules[type];
  if (!rule) return undefined;
  // MinIO reserves the bucket named `minio`.
  if (type === 'minio') return name.length < 3 || name === 'minio' ? `fn-${name}` : name;
  return shortened(`${service}_${name}_${environment}`, rule.max);
}

/** Limits a name to `max` bytes: the end of a longer name is replaced by a digest of the whole name. Pure. */
export function shortened(name: string, max: number): string {
  if (name.length <= max) return name;
  const digest = createHash('sha256').update(name).digest('hex').slice(0, 8);
  return `${name.slice(0, max - digest.length - 1)}_${digest}`;
}

/** Checks the name of a database or bucket that a user chose. @throws Problem `invalid_value` */
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
    throw refusal(`The ${what} "${database}" is reserved by the server; choose another name.`, field);
  }
}

function refusal(message: string, field: string): Problem {
  return new Problem('invalid_value', message, { details: { field } });
}
