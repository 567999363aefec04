import type { BoundServer, ServerTarget } from './server.ts';

/** The services in which bindings create something of their own. */
export const boundTypes = ['postgres', 'mysql', 'mongodb', 'redis', 'minio'] as const;

export type BoundType = (typeof boundTypes)[number];

/** Opens a server for a binding of a project. @throws BindingError */
export type OpenServer = (type: BoundType, target: ServerTarget, project: string) => Promise<BoundServer>;

/** Loaded when needed, because the clients are large and a process rarely uses all. */
const openers: Readonly<Record<BoundType, (target: ServerTarget) => Promise<BoundServer>>> = {
  postgres: async (target) => (await import('./postgres.ts')).openPostgres(target),
  mysql: async (target) => (await import('./mysql.ts')).openMysql(target),
  mongodb: async (target) => (await import('./mongodb.ts')).openMongodb(target),
  redis: async (target) => (await import('./redis.ts')).openRedis(target),
  minio: async (target) => (await import('./minio.ts')).openMinio(target),
};

/** Opens a server in this process. */
export const openServer: OpenServer = (type, target) => openers[type](target);
