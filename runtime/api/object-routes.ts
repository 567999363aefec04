import type { z } from 'zod';
import { environmentQuery, page, pageQuery } from '../contracts/api/common.ts';
import type { Stored } from '../contracts/kubernetes.ts';
import type { AuditAction } from '../domain/audit.ts';
import { checkWorkloadName } from '../domain/names.ts';
import { pageOf } from '../http/page.ts';
import {
  actorOf,
  paramsOf,
  sessionOf,
  type ParamsIn,
  type ProjectAccess,
  type Route,
  type RouteReply,
  type RouteRequest,
} from '../http/route.ts';
import { resolveEnvironment, type Environment } from '../kube/environments.ts';
import type { KubeClient, ObjectReader } from '../kube/kube-client.ts';
import { readerFor, versionHeader } from './reader.ts';
import { createObject, newObjectMetadata, type HostAsker } from '../workloads/create.ts';
import {
  deleteWorkload,
  getLivingWorkload,
  getWorkload,
  isIn,
  resourceByKind,
  type EnvironmentObject,
} from '../workloads/objects.ts';

/** A request about one object: its environment is resolved, and the object can be read. */
export interface ObjectRequest<T extends EnvironmentObject> {
  environment: Environment;
  /** Who acts: the email address of a user, or `token <name>`. */
  actor: string;
  /** What the signed-in user may know. */
  asker: HostAsker;
  /** The object's name, from the path. */
  name: string;
  /** Finds other objects for a response: in copies when the route only reads. */
  reader: ObjectReader;
  /** Reads the object. @throws Problem `not_found` */
  find: () => Promise<Stored<T>>;
  /** Reads the object. @throws Problem `not_found`, and `not_ready` while the object is being deleted */
  findLiving: () => Promise<Stored<T>>;
}

type EnvironmentQuery = z.ZodType<z.output<typeof environmentQuery>>;

interface ObjectRoute<T extends EnvironmentObject, Path extends string, Query extends z.ZodType, Body extends z.ZodType>
  extends
    Pick<Route, 'method' | 'summary' | 'replies'>,
    Partial<Pick<Route, 'tag' | 'audit' | 'auditMessage' | 'bodyLimit' | 'webSocket'>> {
  /** Below the object's path, such as `/runs`; empty for the object itself. */
  path: Path;
  access: ProjectAccess;
  /** Schemas of parameters in `path` that are longer than 100 characters. */
  params?: { [Name in ParamsIn<Path>]?: z.ZodType<string> };
  /** Default: `environment` only. */
  query?: Query;
  body?: Body;
  handle: (
    request: RouteRequest<Record<'project' | ParamsIn<Path>, string>, z.output<Query>, z.output<Body>> &
      ObjectRequest<T>,
  ) => Promise<RouteReply>;
}

/** The object that a create request describes. */
interface NewObject<T extends EnvironmentObject> {
  spec: T['spec'];
  /** Public hosts to claim. */
  hosts?: readonly string[];
  annotations?: Record<string, string>;
  /** Its URL, for the response: its controller has not reported one yet. */
  url?: string | undefined;
  /** Completes the object after it was created, and returns it. */
  complete?: (created: Stored<T>) => Promise<Stored<T>>;
}

type CreateBody = z.ZodType<{ name: string }>;

type CollectionRequest<Body> = RouteRequest<Record<string, string>, z.output<typeof environmentQuery>, Body> &
  Pick<ObjectRequest<EnvironmentObject>, 'environment' | 'actor'>;

/** What one kind's create, list, read and delete routes add to the routine that all kinds share. */
export interface Collection<
  T extends EnvironmentObject,
  Body extends CreateBody,
  DeleteQuery extends EnvironmentQuery,
> {
  /** The object's schema in responses. */
  view: z.ZodType;
  /** Prepares the views of a response's objects, such as by one read for all of them. */
  viewer: (
    environment: Environment,
    objects: readonly Stored<T>[],
    reader: ObjectReader,
  ) => Promise<ObjectView<T>> | ObjectView<T>;
  create: {
    summary: string;
    body: Body;
    /** Largest body in bytes; default as for all routes. */
    bodyLimit?: number;
    /** @throws Problem for a body that is not valid */
    prepare(request: CollectionRequest<z.output<Body>>): Promise<NewObject<T>>;
  };
  list: { summary: string };
  read: {
    summary: string;
    /** Default: as in lists. */
    view?: (object: Stored<T>, environment: Environment, reader: ObjectReader) => Promise<object>;
  };
  delete: {
    summary: string;
    /** Default `deployer`. */
    role?: 'admin';
    query?: DeleteQuery;
    /** @throws Problem for an object that must not be deleted now */
    check?: (object: Stored<T>, query: z.output<DeleteQuery>) => Promise<void>;
  };
}

type ObjectView<T extends EnvironmentObject> = (
  object: Stored<T>,
  options?: { url?: string },
) => object | Promise<object>;

/** The routes of one kind of object in environments, `/projects/{project}/apps/{app}` and below. */
export function objectRoutes<T extends EnvironmentObject>(kube: KubeClient, kind: T['kind']) {
  const param = kind.toLowerCase();
  const tag = `${param}s`;
  const collectionPath = `/projects/:project/${tag}`;
  const objectPath = `${collectionPath}/:${param}`;
  const resource = resourceByKind[kind];

  const environmentOf = (
    { params, query }: Pick<CollectionRequest<unknown>, 'params' | 'query'>,
    reader: ObjectReader = kube,
  ) => resolveEnvironment(reader, params['project'] ?? '', query.environment);

  /** One route of an object. Its audit entry names the object, its environment and its namespace. */
  const objectRoute = <
    const Path extends string,
    Query extends z.ZodType = typeof environmentQuery,
    Body extends z.ZodType = z.ZodType,
  >({
    handle,
    path,
    params = {},
    ...definition
  }: ObjectRoute<T, Path, Query, Body>): Route => ({
    tag,
    query: environmentQuery,
    ...definition,
    params: paramsOf(objectPath + path).extend(params),
    path: objectPath + path,
    async handle(request: RouteRequest<Record<string, string>, z.output<typeof environmentQuery>, unknown>) {
      const reader = isRead(definition) ? readerFor(kube, request.session) : kube;
      const environment = await environmentOf(request, reader);
      const { [param]: name = '' } = request.params;
      const reply = await handle({
        ...request,
        environment,
        actor: actorOf(sessionOf(request)),
        asker: askerOf(request, environment),
        name,
        reader,
        find: () => getWorkload<T>(reader, kind, environment, name),
        findLiving: () => getLivingWorkload<T>(reader, kind, environment, name),
      } as never);
      return audited(reply, environment);
    },
  });

  /** Creates, lists, reads and deletes objects of the kind. */
  const collection = <Body extends CreateBody, DeleteQuery extends EnvironmentQuery = typeof environmentQuery>({
    view,
    viewer,
    create,
    list,
    read,
    delete: deletion,
  }: Collection<T, Body, DeleteQuery>): Route[] => {
    const common = { tag, path: collectionPath, params: paramsOf(collectionPath) };
    const createRoute: Route = {
      ...common,
      method: 'POST',
      access: { project: 'deployer', scope: 'write' },
      summary: create.summary,
      audit: `${param}.create` as AuditAction,
      query: environmentQuery,
      body: create.body,
      ...(create.bodyLimit !== undefined && { bodyLimit: create.bodyLimit }),
      replies: { 201: view },
      async handle(request: RouteRequest<Record<string, string>, z.output<typeof environmentQuery>, z.output<Body>>) {
        const { name } = request.body;
        checkWorkloadName(name);
        const environment = await environmentOf(request);
        const actor = actorOf(sessionOf(request));
        const prepared = await create.prepare({ ...request, environment, actor });
        const { spec, hosts = [], annotations, url, complete } = prepared;
        const metadata = { ...newObjectMetadata(kind, name, environment), ...(annotations && { annotations }) };
        const object = { apiVersion: resource.apiVersion, kind, metadata, spec } as T;
        const stored = await createObject(kube, object, { hosts, environment, asker: askerOf(request, environment) });
        const created = complete ? await complete(stored) : stored;
        const toView = await viewer(environment, [created], kube);
        const body = await toView(created, url === undefined ? {} : { url });
        return audited({ status: 201, body, audit: { [param]: name } }, environment);
      },
    };
    const listRoute: Route = {
      ...common,
      method: 'GET',
      access: { project: 'viewer', scope: 'read' },
      summary: list.summary,
      query: environmentQuery.extend(pageQuery.shape),
      replies: { 200: page(view) },
      async handle({ params, query, session }: RouteRequest<Record<string, string>, ListQuery, unknown>) {
        const reader = readerFor(kube, session);
        const environment = await environmentOf({ params, query }, reader);
        const { items, resourceVersion } = await reader.list<T>(resource, { namespace: environment.namespace });
        const own = items.filter((item) => isIn(environment, item));
        const page = pageOf(own, ({ metadata }) => metadata.name, query);
        const toView = await viewer(environment, page.items, reader);
        return {
          status: 200,
          headers: versionHeader(resourceVersion),
          body: { ...page, items: await Promise.all(page.items.map(async (item) => toView(item))) },
        };
      },
    };
    const readRoute = objectRoute({
      method: 'GET',
      path: '',
      access: { project: 'viewer', scope: 'read' },
      summary: read.summary,
      replies: { 200: view },
      async handle({ environment, reader, find }) {
        const object = await find();
        const body = read.view
          ? await read.view(object, environment, reader)
          : await (
              await viewer(environment, [object], reader)
            )(object);
        return { status: 200, body };
      },
    });
    const deleteRoute = objectRoute({
      method: 'DELETE',
      path: '',
      access: deletion.role === 'admin' ? { project: 'admin' } : { project: 'deployer', scope: 'write' },
      summary: deletion.summary,
      audit: `${param}.delete` as AuditAction,
      query: deletion.query ?? environmentQuery,
      replies: { 202: view, 204: null },
      async handle({ environment, query, find }) {
        const object = await find();
        await deletion.check?.(object, query as z.output<DeleteQuery>);
        const remaining = await deleteWorkload(kube, object);
        if (!remaining) return { status: 204 };
        return { status: 202, body: await (await viewer(environment, [remaining], kube))(remaining) };
      },
    });
    return [createRoute, listRoute, readRoute, deleteRoute];
  };

  return { route: objectRoute, collection };
}

/** Declares routes of one kind. */
export type ObjectRoutes<T extends EnvironmentObject> = ReturnType<typeof objectRoutes<T>>;

function askerOf(request: Parameters<typeof sessionOf>[0], { project }: Environment): HostAsker {
  return { project, platformAdmin: sessionOf(request).role === 'admin' };
}

/** Whether a route only reads, so that copies of objects are enough. What is recorded in the audit log is read itself. */
function isRead({ method, webSocket, audit }: Pick<Route, 'method' | 'webSocket' | 'audit'>): boolean {
  return method === 'GET' && webSocket === undefined && audit === undefined;
}

type ListQuery = z.output<typeof environmentQuery> & z.output<typeof pageQuery>;

function audited(reply: RouteReply, { environment, namespace }: Environment): RouteReply {
  return reply.audit === false ? reply : { ...reply, audit: { environment, namespace, ...reply.audit } };
}
