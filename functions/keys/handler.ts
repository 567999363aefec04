import type { KeyView } from '../../runtime/contracts/api/keys.ts';
import type { Id } from '../../runtime/domain/ids.ts';
import { usageTotalsFrom } from '../../runtime/domain/usage-window.ts';
import { differences, keyAudit, keyAuditMessage } from '../../runtime/api/key-audit.ts';
import {
  createLocateKey,
  keyNotFound,
  type LocatedKey,
  type LocateKeyDependencies,
} from '../../runtime/api/locate-key.ts';
import { pageOfRows } from '../../runtime/http/page.ts';
import { route, sessionOf, type Route } from '../../runtime/http/route.ts';
import { listKeys } from '../../runtime/records/keys.ts';
import { sumUsage } from '../../runtime/records/usage.ts';
import { createKeyFields, type KeyFieldDependencies } from './fields.ts';
import {
  createKeySchema,
  getKeySchema,
  listKeysSchema,
  revokeKeySchema,
  rotateKeySchema,
  updateKeySchema,
} from './schema.ts';
import { changeKey, createKey, revokeKey, rotateKey } from './store.ts';
import { audited, toView } from './view.ts';

export type KeyDependencies = LocateKeyDependencies & KeyFieldDependencies;

/** The API keys of an environment (docs/reference/gate.md#keys). */
export function createKeyRoutes(dependencies: KeyDependencies): Route[] {
  const { pool, clock, resolveEnvironment } = dependencies;
  const locate = createLocateKey(dependencies);
  const fields = createKeyFields(dependencies);

  const usageOf = (ids: readonly Id[]) => sumUsage(pool, ids, usageTotalsFrom(clock.now()));
  const viewOf = async (located: LocatedKey): Promise<KeyView> => {
    const { id } = located.record;
    return toView(located, (await usageOf([id])).get(id), clock.now());
  };

  const create = route({
    method: 'POST',
    path: '/projects/:project/api-keys',
    access: { project: 'admin' },
    summary: 'Creates an API key. The response is the only place where the full key is shown.',
    tag: 'keys',
    audit: 'key.create',
    auditMessage: keyAuditMessage,
    ...createKeySchema,
    async handle(request) {
      const { params, query, body } = request;
      const environment = await resolveEnvironment(params.project, query.environment);
      const { plan, ...optional } = body;
      const { key, record, version } = await createKey(pool, {
        name: null,
        scope: null,
        expiresAt: null,
        ...(await fields.changes(environment, optional)),
        planId: await fields.planId(environment, plan),
        environmentId: environment.environmentId,
        createdBy: sessionOf(request).email,
      });
      // A new app may not be recorded yet, so the response shows the names of the request.
      const apps = body.apps ? [...new Set(body.apps)].sort() : null;
      const located = { record: { ...record, apps }, environment };
      const subject = { apiKey: audited(located.record) };
      return {
        status: 201,
        body: { ...toView(located, undefined, clock.now()), key, change: { version } },
        audit: keyAudit({ environment: environment.environment, subject, version }),
      };
    },
  });

  const list = route({
    method: 'GET',
    path: '/projects/:project/api-keys',
    access: { project: 'viewer', scope: 'read' },
    summary: 'Lists the API keys of an environment, newest first.',
    tag: 'keys',
    ...listKeysSchema,
    async handle({ params, query }) {
      const environment = await resolveEnvironment(params.project, query.environment);
      const { limit, cursor } = query;
      const records = await listKeys(pool, environment.environmentId, { limit: limit + 1, before: cursor });
      const usage = await usageOf(records.map(({ id }) => id));
      const now = clock.now();
      const page = pageOfRows(records, limit, {
        cursorOf: ({ id }) => id,
        toItem: (record) => toView({ record, environment }, usage.get(record.id), now),
      });
      return { status: 200, body: page };
    },
  });

  const read = route({
    method: 'GET',
    path: '/projects/:project/api-keys/:key',
    access: { project: 'viewer', scope: 'read' },
    summary: 'Shows an API key, by its id or handle.',
    tag: 'keys',
    ...getKeySchema,
    async handle({ params, query }) {
      return { status: 200, body: await viewOf(await locate(params.project, params.key, query.environment)) };
    },
  });

  const update = route({
    method: 'PATCH',
    path: '/projects/:project/api-keys/:key',
    access: { project: 'admin' },
    summary: 'Enables, disables or changes an API key. The gate applies the change within seconds.',
    tag: 'keys',
    audit: 'key.update',
    auditMessage: keyAuditMessage,
    ...updateKeySchema,
    async handle(request) {
      const { params, query, body } = request;
      const { record, environment } = await locate(params.project, params.key, query.environment);
      const changed = await changeKey(pool, record.id, await fields.changes(environment, body), body.replaces);
      if (!changed) throw keyNotFound(params.project);
      const { before, after, version } = changed;
      const view = await viewOf({ record: after, environment });
      if (version === undefined) return { status: 200, body: view, audit: false };
      const switched = before.enabled !== after.enabled;
      const audit = keyAudit({
        action: !switched ? 'key.update' : after.enabled ? 'key.enable' : 'key.disable',
        environment: environment.environment,
        subject: { apiKey: audited(after) },
        changes: differences(audited(before), audited(after)),
        version,
      });
      return { status: 200, body: { ...view, change: { version } }, audit };
    },
  });

  const rotate = route({
    method: 'POST',
    path: '/projects/:project/api-keys/:key/rotate',
    access: { project: 'admin' },
    summary: 'Replaces an API key with a new one. The old key expires after a grace period.',
    tag: 'keys',
    audit: 'key.rotate',
    auditMessage: keyAuditMessage,
    ...rotateKeySchema,
    async handle(request) {
      const { params, query, body } = request;
      const expiresAt = body.expiresAt === undefined ? undefined : fields.expiry(body.expiresAt);
      const { record: old, environment } = await locate(params.project, params.key, query.environment);
      const now = clock.now();
      const endsAt = new Date(now.getTime() + body.graceSeconds * 1000);
      const rotation = { endsAt, expiresAt, now, createdBy: sessionOf(request).email };
      const rotated = await rotateKey(pool, old.id, rotation);
      if (!rotated) throw keyNotFound(params.project);
      const { key, record, before, after, version } = rotated;
      return {
        status: 201,
        audit: keyAudit({
          environment: environment.environment,
          version,
          subject: { apiKey: audited(after) },
          changes: differences(audited(before), audited(after)),
        }),
        body: {
          ...toView({ record, environment }, undefined, now),
          key,
          replaces: { handle: after.handle, expiresAt: (after.expiresAt ?? endsAt).toISOString() },
          change: { version },
        },
      };
    },
  });

  const revoke = route({
    method: 'DELETE',
    path: '/projects/:project/api-keys/:key',
    access: { project: 'admin' },
    summary: 'Revokes an API key permanently. The gate applies it within seconds.',
    tag: 'keys',
    audit: 'key.revoke',
    auditMessage: keyAuditMessage,
    ...revokeKeySchema,
    async handle(request) {
      const { params, query } = request;
      const { record, environment } = await locate(params.project, params.key, query.environment);
      const { id, handle } = record;
      const version = await revokeKey(pool, id);
      if (version === undefined) throw keyNotFound(params.project);
      const subject = { apiKey: audited(record) };
      const audit = keyAudit({ environment: environment.environment, subject, version });
      return { status: 200, body: { id, handle, change: { version } }, audit };
    },
  });

  return [create, list, read, update, rotate, revoke];
}
