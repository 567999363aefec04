import { serviceCredentials, type ServiceCredentials } from '../contracts/api/services.ts';
import type { Stored } from '../contracts/kubernetes.ts';
import {
  bindingStatus,
  boundServices,
  defaultPrefixes,
  type Binding,
  type BindingStatus,
} from '../contracts/resources/binding.ts';
import { kinds } from '../contracts/resources/kinds.ts';
import { serviceTypes, type ServiceType } from '../contracts/resources/service.ts';
import { Problem } from '../domain/problem.ts';
import { checkVariableName, type Variable } from '../domain/variables.ts';
import type { KubeClient } from '../kube/kube-client.ts';
import type { Configurable } from './objects.ts';
import { isOwned, type Secret } from './owned-secret.ts';

/** The credentials of a binding: the service's address, and the user and database for the workload. */
export interface BoundCredentials extends ServiceCredentials {
  type: ServiceType;
  host: string;
  port: number;
  /** Whether to connect with TLS. */
  tls: boolean;
}

/** The Secret with the credentials, with one key for each field. */
export function bindingSecretName(
  { kind, metadata }: Pick<Configurable, 'kind' | 'metadata'>,
  service: string,
): string {
  return `${kind.toLowerCase()}-${metadata.name}-binding-${service}`;
}

/** The data of that Secret. Pure. @param version of the binding that the password belongs to */
export function bindingData(credentials: BoundCredentials, version: number): Record<string, string> {
  const fields = Object.entries({ ...credentials, version }).filter(([, value]) => value !== undefined);
  return Object.fromEntries(fields.map(([field, value]) => [field, Buffer.from(String(value)).toString('base64')]));
}

/** Parses the data of a binding's Secret; undefined for incomplete data. Pure. */
export function boundCredentials(
  data: Readonly<Record<string, string>> = {},
): (BoundCredentials & { version: number }) | undefined {
  const field = (name: string) => {
    const value = data[name];
    return value === undefined ? undefined : Buffer.from(value, 'base64').toString('utf8');
  };
  const type = serviceTypes.find((name) => name === field('type'));
  const host = field('host');
  if (type === undefined || host === undefined) return undefined;
  const credentials = Object.keys(serviceCredentials.shape).flatMap((name) => {
    const value = field(name);
    return value === undefined ? [] : [[name, value]];
  });
  return {
    ...(Object.fromEntries(credentials) as ServiceCredentials),
    type,
    host,
    port: Number(field('port')),
    tls: field('tls') === 'true',
    version: Number(field('version')),
  };
}

/**
 * Reads the credentials of a workload's binding; undefined while they do not exist, and where the Secret of that name is
 * not the workload's. They work once the binding's status is `ready`.
 */
export async function readBinding(
  kube: Pick<KubeClient, 'get'>,
  owner: Stored<Configurable>,
  service: string,
): Promise<BoundCredentials | undefined> {
  const secret = await kube.get<Secret>(kinds.Secret, bindingSecretName(owner, service), owner.metadata.namespace);
  if (!secret || !isOwned(secret, owner)) return undefined;
  const credentials = boundCredentials(secret.data);
  if (!credentials) return undefined;
  const { version: _, ...rest } = credentials;
  return rest;
}

/** The bindings of a workload without valid credentials. Pure. */
export function unreadyBindings(owner: Configurable): Pick<BindingStatus, 'service' | 'phase' | 'message'>[] {
  return boundServices(owner.spec)
    .map((binding) => bindingStatus(owner, binding) ?? { service: binding.service, phase: 'pending' as const })
    .filter(({ phase }) => phase !== 'ready');
}

/** Why the pods of a workload wait for one of its bindings, a failed one first; undefined when all are ready. Pure. */
export function bindingWait(owner: Configurable): { failed: boolean; message: string } | undefined {
  const unready = unreadyBindings(owner);
  const first = unready.find(({ phase }) => phase === 'failed') ?? unready[0];
  if (!first) return undefined;
  const failed = first.phase === 'failed';
  const start = failed ? `The binding to "${first.service}" failed` : `Waiting for the binding to "${first.service}"`;
  return { failed, message: first.message === undefined ? `${start}.` : `${start}: ${first.message}` };
}

/**
 * The variables of a binding, for the fields that the service has. Pure.
 * `DB_HOST`, `DB_PORT`, `DB_USERNAME`, `DB_PASSWORD`, `DB_NAME`, `DATABASE_URL`; `REDIS_HOST`, `REDIS_PORT`, `REDIS_PASSWORD`, `REDIS_URL`
 * (and `REDIS_USERNAME` of an external one that has users); `S3_ENDPOINT`, `S3_ACCESS_KEY`, `S3_SECRET_KEY`, `S3_BUCKET`,
 * `S3_REGION`; with another prefix where the binding has one, such as `STOCK_HOST` and `STOCK_URL`.
 */
export function bindingVariables({ prefix }: Pick<Binding, 'prefix'>, credentials: BoundCredentials): Variable[] {
  const { type } = credentials;
  const values = fields[type](credentials);
  return Object.entries(values).flatMap(([name, value]) =>
    value === undefined ? [] : [{ name: variableName(type, prefix, name), value: String(value) }],
  );
}

/** With the default prefix, a database's URL has the name that libraries and frameworks read. */
function variableName(type: ServiceType, prefix: string | undefined, field: string): string {
  if (field === 'URL' && (prefix ?? defaultPrefixes[type]) === 'DB_') return 'DATABASE_URL';
  return `${prefix ?? defaultPrefixes[type]}${field}`;
}

/** The names that {@link bindingVariables} can use. Pure. @throws Problem `invalid_value` for an invalid prefix */
export function bindingNames({ prefix }: Pick<Binding, 'prefix'>, type: ServiceType): string[] {
  const example: BoundCredentials = { ...everyField, type };
  const names = bindingVariables({ ...(prefix !== undefined && { prefix }) }, example).map(({ name }) => name);
  for (const name of names) checkVariableName(name, 'prefix');
  return names;
}

/** Checks that the bindings of one workload use different names. @throws Problem `invalid_value` */
export function checkBindingNames(bindings: readonly (Pick<Binding, 'service' | 'prefix'> & { type: ServiceType })[]) {
  const holders = new Map<string, string>();
  for (const { service, type, ...binding } of bindings) {
    if (binding.prefix !== undefined) checkPrefix(binding.prefix);
    for (const name of bindingNames(binding, type)) {
      const previous = holders.get(name);
      if (previous !== undefined) {
        throw new Problem(
          'invalid_value',
          `The bindings to "${previous}" and "${service}" would both set ${name}; give one of them another prefix: --prefix MY_, or --bind ${service}=MY_ for a new workload.`,
          { details: { field: 'prefix', service: previous } },
        );
      }
      holders.set(name, service);
    }
  }
}

/** @throws Problem `invalid_value` */
function checkPrefix(prefix: string): void {
  const reason = !/^([A-Za-z_]\w*)?$/.test(prefix)
    ? 'is not a valid prefix: use letters, digits and underscores, and start with a letter or underscore'
    : prefix.startsWith('SVC_') && 'is reserved: variables that start with SVC_ belong to the platform';
  if (reason === false) return;
  const message = `"${prefix}" ${reason}; choose another one (--prefix), such as STOCK_.`;
  throw new Problem('invalid_value', message, { details: { field: 'prefix' } });
}

type Fields = Readonly<Record<string, string | number | undefined>>;

const ofDatabase = (credentials: BoundCredentials): Fields => {
  const { host, port, username, password, database } = credentials;
  return {
    HOST: host,
    PORT: port,
    USERNAME: username,
    PASSWORD: password,
    NAME: database,
    URL: databaseUrl(credentials),
  };
};

const fields: Readonly<Record<ServiceType, (credentials: BoundCredentials) => Fields>> = {
  postgres: ofDatabase,
  mysql: ofDatabase,
  mongodb: ofDatabase,
  redis: (credentials) => {
    const { host, port, username, password } = credentials;
    return { HOST: host, PORT: port, USERNAME: username, PASSWORD: password, URL: redisUrl(credentials) };
  },
  minio: ({ host, port, tls, accessKey, secretKey, bucket, region }) => ({
    ENDPOINT: `${tls ? 'https' : 'http'}://${inUrl(host)}:${port}`,
    ACCESS_KEY: accessKey,
    SECRET_KEY: secretKey,
    BUCKET: bucket,
    REGION: region,
  }),
};

const everyField = {
  host: '-',
  port: 1,
  tls: false,
  username: '-',
  password: '-',
  database: '-',
  accessKey: '-',
  secretKey: '-',
  bucket: '-',
  region: '-',
};

/** The schemes of databases' URLs, and the parameter that demands TLS. */
const urlSchemes: Readonly<Partial<Record<ServiceType, { scheme: string; tls: string }>>> = {
  postgres: { scheme: 'postgresql', tls: 'sslmode=require' },
  mysql: { scheme: 'mysql', tls: 'ssl-mode=REQUIRED' },
  mongodb: { scheme: 'mongodb', tls: 'tls=true' },
};

/**
 * https://www.postgresql.org/docs/current/libpq-connect.html#LIBPQ-CONNSTRING-URIS
 * https://dev.mysql.com/doc/refman/8.4/en/connecting-using-uri-or-key-value-pairs.html
 * https://www.mongodb.com/docs/manual/reference/connection-string/
 */
function databaseUrl({ type, host, port, tls, username, password, database = '' }: BoundCredentials) {
  const url = urlSchemes[type];
  if (!url || username === undefined || password === undefined) return undefined;
  const user = `${encodeURIComponent(username)}:${encodeURIComponent(password)}`;
  const query = tls ? `?${url.tls}` : '';
  return `${url.scheme}://${user}@${inUrl(host)}:${port}/${encodeURIComponent(database)}${query}`;
}

/** https://www.iana.org/assignments/uri-schemes/prov/redis */
function redisUrl({ host, port, tls, username = '', password }: BoundCredentials): string {
  const user = password === undefined ? '' : `${encodeURIComponent(username)}:${encodeURIComponent(password)}@`;
  return `${tls ? 'rediss' : 'redis'}://${user}${inUrl(host)}:${port}`;
}

function inUrl(host: string): string {
  return host.includes(':') ? `[${host}]` : host;
}
