import { createHash } from 'node:crypto';
import type { Pool } from 'pg';
import type { ServiceCredentials } from '../../runtime/contracts/api/services.ts';
import type { Stored } from '../../runtime/contracts/kubernetes.ts';
import { defaultDatabase } from '../../runtime/contracts/resources/bound-database.ts';
import type { Binding } from '../../runtime/contracts/resources/binding.ts';
import { eventsBucket } from '../../runtime/contracts/resources/function.ts';
import {
  passwordField,
  usernameField,
  type ServiceResource,
  type ServiceSpec,
  type ServiceType,
} from '../../runtime/contracts/resources/service.ts';
import type { Id } from '../../runtime/domain/ids.ts';
import type { NameLookup } from '../../runtime/process/name-lookup.ts';
import { BlockedHostError, serviceAddress, serviceEndpoint } from '../../runtime/services/address.ts';
import { readCredentials } from '../../runtime/services/credentials.ts';
import { workloadIdOf, type Configurable } from '../../runtime/workloads/objects.ts';
import type { KubeClient } from '../../runtime/kube/kube-client.ts';
import {
  findDatabase,
  deleteDatabaseRecord,
  updateBucketNotifications,
  reserveDatabase,
  recordPlanned,
  type BindingRecord,
} from '../../runtime/records/bindings.ts';
import { boundTypes, openServer, type BoundType, type OpenServer } from './open-server.ts';
import { roleName } from './postgres.ts';
import { BindingError, type BoundServer, type Databases } from './server.ts';

/** What bindings create in an external server: users and databases, only databases, or nothing. */
const createdInExternal: Readonly<Partial<Record<BoundType, 'users' | 'databases'>>> = {
  postgres: 'users',
  mysql: 'users',
  mongodb: 'users',
  minio: 'databases',
};

/** The type of a service in which bindings create something. All bindings share the rest of a service. */
function boundType({ type, external }: ServiceSpec): BoundType | undefined {
  const bound = boundTypes.find((each) => each === type);
  return bound && external && !createdInExternal[bound] ? undefined : bound;
}

function createdIn(spec: ServiceSpec): 'users' | 'databases' | undefined {
  const type = boundType(spec);
  return spec.external ? type && createdInExternal[type] : type && 'users';
}

/** The word for a database in messages to users. */
function databaseTerm(type: ServiceType): 'bucket' | 'database' {
  return type === 'minio' ? 'bucket' : 'database';
}

/** What a binding creates in its service, and the credentials that the workload gets. */
export interface Plan {
  /** The database or bucket; undefined on a server without databases. */
  database: string | undefined;
  /** Whether a user named the database, which may then exist already. */
  chosen: boolean;
  /** Whether it is the database that an external service was registered with. */
  registered: boolean;
  /** The user to create; undefined where the binding uses the registered credentials. */
  username: string | undefined;
  /** The bucket of the function's events, where it is not `database`. */
  extraBucket: string | undefined;
  /** The bucket of the function's events. */
  eventsBucket: string | undefined;
  /** Pure. @param password of the user to create */
  credentials: (password: string) => ServiceCredentials;
}

interface Dependencies {
  /** Resolves the names of external services; default: the system's resolver. */
  names?: NameLookup | undefined;
  pool: Pool;
  kube: Pick<KubeClient, 'get'>;
  /** Default: connects in this process. */
  open?: OpenServer;
}

/** Plans, creates and removes what bindings need in their services. */
export function createProvisioner(dependencies: Dependencies) {
  const { pool } = dependencies;
  return {
    /** Creates nothing. */
    async plan(
      record: BindingRecord,
      spec: Configurable['spec'],
      binding: Binding,
      service: Stored<ServiceResource>,
    ): Promise<Plan> {
      const admin = (await readCredentials(dependencies.kube, service)) ?? {};
      return planBinding(record, service, { spec, binding, admin });
    },

    /**
     * Creates what the plan contains, with this password for its user.
     * @returns false where the managed server cannot send the notifications of the events' bucket @throws BindingError
     */
    async create(
      record: BindingRecord,
      service: Stored<ServiceResource>,
      plan: Plan,
      password: string,
    ): Promise<boolean> {
      const enabled = await withServer(dependencies, record, service, (server) =>
        applyPlan(pool, record, service, { server, plan, password }),
      );
      return enabled ?? true;
    },

    /**
     * Deletes the user that was created for a binding, and its database where `dropped` is set and no other workload has it.
     * @param dropped the binding to delete with its database @throws BindingError
     */
    async remove(record: BindingRecord, service: Stored<ServiceResource>, dropped?: Binding): Promise<void> {
      const serviceId = workloadIdOf(service);
      const isProvisioned = record.serviceId === serviceId;
      if (!isProvisioned && !dropped) return;
      // An earlier binding may have created the database although this one created nothing yet.
      const database =
        (isProvisioned && record.database) || dropped?.database || defaultDatabase(service.spec.type, record);
      await withServer(dependencies, record, service, async (server) => {
        if (isProvisioned) {
          await deleteUser(record, server);
          await updateBucketEvents(pool, server, { id: record.id, serviceId }, undefined);
        }
        if (!dropped || database === undefined) return;
        const holder = await findDatabase(pool, serviceId, database);
        if (holder?.workloadId !== record.workloadId) return;
        await server.databases?.drop(database);
        await deleteDatabaseRecord(pool, serviceId, database);
      });
    },
  };
}

/** Pure. */
function planBinding(
  record: BindingRecord,
  service: Stored<ServiceResource>,
  { spec, binding, admin }: { spec: Configurable['spec']; binding: Binding; admin: ServiceCredentials },
): Plan {
  const { type, external } = service.spec;
  const registeredBucket = external && type === 'minio' ? admin.bucket : undefined;
  const database = binding.database ?? registeredBucket ?? defaultDatabase(type, record);
  const registered =
    external !== undefined && database !== undefined && database === (registeredBucket ?? admin.database);
  const username = createdIn(service.spec) === 'users' && !registered ? usernameOf(record, service) : undefined;
  const bucket = 'trigger' in spec ? eventsBucket(spec, service.metadata.name) : undefined;
  return {
    database,
    chosen: binding.database !== undefined,
    registered,
    username,
    extraBucket: bucket === database ? undefined : bucket,
    eventsBucket: bucket,
    credentials: (password) => ({
      ...admin,
      ...(database !== undefined && { [databaseTerm(type)]: database }),
      ...(username !== undefined && { [usernameField(type)]: username, [passwordField(type)]: password }),
    }),
  };
}

/** Opens the server of a service for some work; undefined where bindings create nothing in it. @throws BindingError */
async function withServer<T>(
  { kube, names, open = openServer }: Dependencies,
  { project }: BindingRecord,
  service: Stored<ServiceResource>,
  work: (server: BoundServer) => Promise<T>,
): Promise<T | undefined> {
  const { external } = service.spec;
  const type = boundType(service.spec);
  if (!type) return undefined;
  const { host, port } = serviceEndpoint(service);
  const credentials = (await readCredentials(kube, service)) ?? {};
  const lookup = names && { lookup: (name: string) => names(project, name) };
  const address = await serviceAddress(kube, service, lookup).catch((error: unknown) => {
    throw error instanceof BlockedHostError ? new BindingError(error.message) : error;
  });
  const target = { host, address, port, tls: external?.tls ?? false, managed: !external, credentials };
  const server = await open(type, target, project);
  try {
    return await work(server);
  } finally {
    await server.close();
  }
}

/** @returns false where the managed server cannot send the notifications of the events' bucket @throws BindingError */
async function applyPlan(
  pool: Pool,
  record: BindingRecord,
  service: Stored<ServiceResource>,
  { server, plan, password }: { server: BoundServer; plan: Plan; password: string },
): Promise<boolean> {
  const { database, chosen, registered, username, extraBucket } = plan;
  const { databases } = server;
  const serviceId = workloadIdOf(service);
  const term = databaseTerm(service.spec.type);
  const createMissing = async (name: string) => {
    if ((await databases?.exists(name)) === false) await databases?.create(name);
  };
  const isChanged = record.username !== (username ?? null) || record.database !== (database ?? null);
  if (record.serviceId === serviceId && isChanged) await deleteUser(record, server);
  if (extraBucket !== undefined) await createMissing(extraBucket);
  if (registered) {
    await recordPlanned(pool, record.id, { serviceId, username: undefined, database: undefined });
    if (term === 'bucket' && database !== undefined) await createMissing(database);
    return true;
  }
  const claim = databases && database !== undefined && { database, chosen, term };
  const owner = claim ? await claimDatabase(pool, record, serviceId, { ...claim, databases }) : false;
  await recordPlanned(pool, record.id, { serviceId, username, database });
  if (claim && owner) await databases.create(claim.database);
  if (username !== undefined) {
    const bucket = extraBucket !== undefined && { bucket: extraBucket };
    await server.putUser({ username, password, database: database ?? '', owner, ...bucket });
  }
  return updateBucketEvents(pool, server, { id: record.id, serviceId }, plan.eventsBucket);
}

/** @returns whether the database belongs to the workload; false for an existing one that a user chose @throws BindingError */
async function claimDatabase(
  pool: Pool,
  { workloadId }: BindingRecord,
  serviceId: Id,
  { database, chosen, term, databases }: { database: string; chosen: boolean; term: string; databases: Databases },
): Promise<boolean> {
  const holder = await findDatabase(pool, serviceId, database);
  const exists = holder === undefined && (await databases.exists(database));
  if (exists !== false) {
    if (chosen) return false;
    const reason = exists
      ? `The service already has a ${term} "${database}" that no binding created`
      : `The service does not show whether it has a ${term} "${database}"`;
    throw new BindingError(`${reason}. To use it, bind with --database ${database}; otherwise choose another name.`);
  }
  if (holder && holder.workloadId !== workloadId && holder.name === null && !chosen) {
    throw new BindingError(
      `The ${term} "${database}" belonged to a deleted app or function. To keep using its data, bind with --database ${database}; otherwise choose another name.`,
    );
  }
  if (await reserveDatabase(pool, serviceId, database, workloadId)) return true;
  const owner = holder?.kind ? `the ${holder.kind.toLowerCase()} "${holder.name}"` : 'another workload';
  throw new BindingError(`The ${term} "${database}" belongs to ${owner}; bind with another --database.`);
}

async function deleteUser({ username, database }: BindingRecord, server: BoundServer): Promise<void> {
  if (username !== null) await server.deleteUser(username, database ?? '');
}

/** @returns false where the server cannot send notifications of the bucket */
async function updateBucketEvents(
  pool: Pool,
  { setBucketEvents }: BoundServer,
  binding: { id: Id; serviceId: Id },
  bucket: string | undefined,
): Promise<boolean> {
  return setBucketEvents === undefined || updateBucketNotifications(pool, binding, bucket, setBucketEvents);
}

/** At most 32 characters, as MySQL requires. The digest keeps names of deleted and recreated workloads apart. */
function usernameOf({ name, workloadId }: BindingRecord, service: Stored<ServiceResource>): string {
  const digest = createHash('sha256')
    .update(`${workloadId} ${workloadIdOf(service)}`)
    .digest('hex')
    .slice(0, 12);
  const username = `${name.slice(0, 19)}_${digest}`;
  return service.spec.type === 'postgres' ? roleName(username) : username;
}
