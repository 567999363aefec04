import { createHash } from 'node:crypto';
import type { Pool } from 'pg';
import type { ServiceCredentials } from '../../runtime/contracts/api/services.ts';
import type { Stored } from '../../runtime/contracts/kubernetes.ts';
import { defaultDatabase } from '../../runtime/contracts/resources/bound-database.ts';
import { eventsBucket, type FunctionBinding, type FunctionSpec } from '../../runtime/contracts/resources/function.ts';
import {
  passwordField,
  usernameField,
  type ServiceResource,
  type ServiceSpec,
  type ServiceType,
} from '../../runtime/contracts/resources/service.ts';
import type { Id } from '../../runtime/domain/ids.ts';
import { ClosedHostError, serviceAddress, serviceEndpoint } from '../../runtime/host/service-address.ts';
import { readCredentials } from '../../runtime/host/service-credentials.ts';
import { workloadIdOf } from '../../runtime/host/workload-objects.ts';
import type { KubeClient } from '../../runtime/kube/kube-client.ts';
import {
  findDatabase,
  forgetDatabase,
  hearOfBucket,
  holdDatabase,
  recordMade,
  type BindingRecord,
} from '../../runtime/records/function-bindings.ts';
import { openMongodb } from './mongodb.ts';
import { openMysql } from './mysql.ts';
import { openMinio } from './minio.ts';
import { openPostgres, roleName } from './postgres.ts';
import { openRedis } from './redis.ts';
import { BindingError, type BoundServer, type Databases, type ServerTarget } from './server.ts';

type Open = (target: ServerTarget) => Promise<BoundServer>;

/**
 * Where bindings make something of their own: users and databases in what the platform runs, and in an external server both,
 * databases alone, or nothing. What other services have, all that may enter share.
 */
const servers: Readonly<Partial<Record<ServiceType, { open: Open; external?: 'users' | 'databases' }>>> = {
  postgres: { open: openPostgres, external: 'users' },
  mysql: { open: openMysql, external: 'users' },
  mongodb: { open: openMongodb, external: 'users' },
  redis: { open: openRedis },
  minio: { open: openMinio, external: 'databases' },
};

/** What bindings make in a service. */
function madeIn({ type, external }: ServiceSpec): 'users' | 'databases' | undefined {
  const server = servers[type];
  return external ? server?.external : server && 'users';
}

/** What a binding gets of its service beside the address. */
export interface Plan {
  /** Or its bucket. */
  database: string | undefined;
  /** Whether somebody chose the database, which then may be there already. */
  chosen: boolean;
  /** Whether it is the one that an external service was registered with. */
  registered: boolean;
  /** A user that is made for it; undefined where it enters as the service was registered. */
  username: string | undefined;
  /** Another bucket that it uses: of its events. */
  bucket: string | undefined;
  /** The bucket of its events, be it that one or its own. */
  heard: string | undefined;
  /** What the function finds. Pure. @param password of that user */
  credentials: (password: string) => ServiceCredentials;
}

/** What of a service a binding is to have, and the ways to make it so and to undo it. */
export function createWayIn({ pool, kube }: { pool: Pool; kube: Pick<KubeClient, 'get'> }) {
  const within = async <T>(
    service: Stored<ServiceResource>,
    credentials: ServiceCredentials,
    work: (server: BoundServer) => Promise<T>,
  ): Promise<T | undefined> => {
    const { type, external } = service.spec;
    const open = servers[type]?.open;
    if (!open || !madeIn(service.spec)) return undefined;
    const { host, port } = serviceEndpoint(service);
    const address = await serviceAddress(kube, service).catch((error: unknown) => {
      throw error instanceof ClosedHostError ? new BindingError(error.message) : error;
    });
    const server = await open({ host, address, port, tls: external?.tls ?? false, own: !external, credentials });
    try {
      return await work(server);
    } finally {
      await server.close();
    }
  };

  /** @returns whether the database is the binding's own @throws BindingError for one that is somebody else's */
  const hold = async (
    record: BindingRecord,
    serviceId: Id,
    { database, chosen, what }: { database: string; chosen: boolean; what: string },
    databases: Databases,
  ) => {
    const holder = await findDatabase(pool, serviceId, database);
    const there = holder === undefined && (await databases.has(database));
    if (there !== false) {
      if (chosen) return false;
      const found = there
        ? `The service has a ${what} "${database}" that no binding made`
        : `The service does not say whether it has a ${what} "${database}"`;
      throw new BindingError(`${found}; bind with --database ${database} to use it, or with another one.`);
    }
    const mine = holder === undefined || holder.workloadId === record.workloadId;
    if (!mine && holder.name === null && !chosen) {
      throw new BindingError(
        `The ${what} "${database}" was made for a function that is deleted; bind with --database ${database} to go on with its data, or with another one.`,
      );
    }
    if (await holdDatabase(pool, serviceId, database, record.workloadId)) return true;
    const name = holder?.name ?? undefined;
    const whose = name === undefined ? 'another function' : `the function "${name}"`;
    throw new BindingError(`The ${what} "${database}" was made for ${whose}; bind with another --database.`);
  };

  const expel = async (record: BindingRecord, server: BoundServer) => {
    if (record.username !== null) await server.expel(record.username, record.database ?? '');
  };

  const listen = async (server: BoundServer, binding: { id: Id; serviceId: Id }, bucket: string | undefined) => {
    const { tell } = server;
    return tell === undefined || hearOfBucket(pool, binding, bucket, tell);
  };

  return {
    /** What a binding leads to as things are now; nothing is made. */
    async plan(
      record: BindingRecord,
      spec: FunctionSpec,
      binding: FunctionBinding,
      service: Stored<ServiceResource>,
    ): Promise<Plan> {
      const { type, external } = service.spec;
      const given = (await readCredentials(kube, service)) ?? {};
      const usual = external && type === 'minio' ? given.bucket : undefined;
      const database = binding.database ?? usual ?? defaultDatabase(type, record);
      const registered = external !== undefined && database !== undefined && database === (usual ?? given.database);
      const bucket = eventsBucket(spec, service.metadata.name);
      const makesUser = madeIn(service.spec) === 'users' && !registered;
      const username = makesUser ? usernameOf(record, service) : undefined;
      const place = database === undefined ? {} : type === 'minio' ? { bucket: database } : { database };
      const chosen = binding.database !== undefined;
      const credentials = (password: string) => ({
        ...given,
        ...place,
        ...(username !== undefined && { [usernameField(type)]: username, [passwordField(type)]: password }),
      });
      const other = bucket === database ? undefined : bucket;
      return { database, chosen, registered, username, bucket: other, heard: bucket, credentials };
    },

    /**
     * Makes what the plan says, with this password.
     * @returns false where the server does not tell of the bucket of its events, though the platform runs it @throws BindingError
     */
    async make(
      record: BindingRecord,
      service: Stored<ServiceResource>,
      { database, chosen, registered, username, bucket, heard }: Plan,
      password: string,
    ): Promise<boolean> {
      const serviceId = workloadIdOf(service);
      const told = await within(service, (await readCredentials(kube, service)) ?? {}, async (server) => {
        const here = record.serviceId === serviceId;
        const { databases } = server;
        if (here && (record.username !== (username ?? null) || record.database !== (database ?? null)))
          await expel(record, server);
        const what = service.spec.type === 'minio' ? 'bucket' : 'database';
        const ensure = async (name: string | undefined) => {
          if (name !== undefined && (await databases?.has(name)) === false) await databases?.make(name);
        };
        await ensure(bucket);
        if (registered) {
          await recordMade(pool, record.id, { serviceId, username: undefined, database: undefined });
          if (what === 'bucket') await ensure(database);
          return true;
        }
        const place = databases && database !== undefined ? { database, chosen, what } : undefined;
        const owner = databases && place ? await hold(record, serviceId, place, databases) : false;
        await recordMade(pool, record.id, { serviceId, username, database });
        if (place && owner) await databases?.make(place.database);
        const also = bucket !== undefined && { bucket };
        if (username !== undefined)
          await server.admit({ username, password, database: database ?? '', owner, ...also });
        return listen(server, { id: record.id, serviceId }, heard);
      });
      return told ?? true;
    },

    /**
     * Takes away what was made for a binding.
     * @param dropped the binding, where its database is to go too, if it is its own @throws BindingError
     */
    async remove(record: BindingRecord, service: Stored<ServiceResource>, dropped?: FunctionBinding): Promise<void> {
      const serviceId = workloadIdOf(service);
      const made = record.serviceId === serviceId;
      if (!made && !dropped) return;
      // One that an earlier binding made may be there, though this one has made nothing yet.
      const database = (made && record.database) || dropped?.database || defaultDatabase(service.spec.type, record);
      await within(service, (await readCredentials(kube, service)) ?? {}, async (server) => {
        if (made) await expel(record, server);
        if (made) await listen(server, { id: record.id, serviceId }, undefined);
        if (!dropped || database === undefined) return;
        const holder = await findDatabase(pool, serviceId, database);
        if (holder?.workloadId !== record.workloadId) return;
        await server.databases?.drop(database);
        await forgetDatabase(pool, serviceId, database);
      });
    },
  };
}

/** MySQL's users have at most 32 characters; nobody else's has this digest, whatever is deleted and made anew. */
function usernameOf({ name, workloadId }: BindingRecord, service: Stored<ServiceResource>): string {
  const digest = createHash('sha256')
    .update(`${workloadId} ${workloadIdOf(service)}`)
    .digest('hex')
    .slice(0, 12);
  const username = `${name.slice(0, 19)}_${digest}`;
  return service.spec.type === 'postgres' ? roleName(username) : username;
}
