import { deploymentAccepted } from '../../runtime/contracts/api/apps.ts';
import { segment, type Query } from '../client.ts';
import type { Scope } from '../scope.ts';
import type { Settings } from './compare.ts';
import type { ObjectPlan } from './plan.ts';

/** What has to be waited for after a change: the deployment with its id, or that the new settings are in use. */
export type Pending = { deployment: string } | 'running' | 'settings' | undefined;

/** Values of secrets by name. */
export type SecretValues = ReadonlyMap<string, string>;

/** Sends the changes of one object through the API. @returns what is in progress afterwards */
export async function sendObject(scope: Scope, object: ObjectPlan, secrets: SecretValues): Promise<Pending> {
  return object.action === 'create' ? createObject(scope, object, secrets) : updateObject(scope, object, secrets);
}

interface Target {
  send(method: 'POST' | 'PUT' | 'PATCH' | 'DELETE', below: string | undefined, body?: object): Promise<void>;
  deploy(method: 'POST' | 'PATCH', below: string | undefined, body?: object): Promise<Pending>;
}

/** The requests about one object. */
function targetOf(scope: Scope, { kind, name, live }: ObjectPlan): Target {
  const { api, query } = scope;
  const item = kind === 'plans' && live ? live.id : name;
  const options = (body: object | undefined): { query: Query; body?: object } => ({ query, ...(body && { body }) });
  return {
    send: (method, below, body) => api.send(method, scope.path(kind, item, below), options(body)),
    async deploy(method, below, body) {
      const { id } = await api.call(method, scope.path(kind, item, below), deploymentAccepted, options(body));
      return { deployment: id };
    },
  };
}

async function createObject(scope: Scope, object: ObjectPlan, secrets: SecretValues): Promise<Pending> {
  const { kind, name, body, file } = object;
  const { gate, bindings = {}, code, env, ...settings } = body;
  const target = targetOf(scope, object);
  const create = (more: object) =>
    scope.api.send('POST', scope.path(kind), { query: scope.query, body: { name, ...settings, ...more } });
  const values = Object.fromEntries(secrets);
  if (kind === 'apps' || kind === 'jobs') {
    const list = Object.entries(bindings as Settings).map(([service, one]) => ({ service, ...(one as object) }));
    await create({
      ...(env !== undefined && { env }),
      ...(list.length > 0 && { bindings: list }),
      ...(secrets.size > 0 && { secrets: values }),
    });
  } else {
    // Variables may refer to secrets and bindings, so those come first.
    const late = env !== undefined && (secrets.size > 0 || Object.keys(bindings as object).length > 0);
    await create({ ...(code !== undefined && { code: file?.code }), ...(env !== undefined && !late && { env }) });
    await sendSecrets(target, secrets);
    await sendBindings(target, Object.entries(bindings as Settings));
    if (late) await target.send('PATCH', undefined, { env });
  }
  if (gate === true) await target.send('PUT', 'gate', { enabled: true });
  return kind === 'apps' || kind === 'functions' || kind === 'services' ? 'running' : undefined;
}

async function updateObject(scope: Scope, object: ObjectPlan, secrets: SecretValues): Promise<Pending> {
  const { kind, body, file, changes } = object;
  const { gate, bindings, git, code: _, ...rest } = body;
  const target = targetOf(scope, object);
  const fields = kind === 'functions' ? functionFields(object, rest) : rest;
  const isNewEnvironment = secrets.size > 0 || changes.some(({ setting }) => /^(env|bindings)\./.test(setting));
  await sendSecrets(target, secrets);
  if (bindings !== undefined) {
    const changed = changes.flatMap(({ setting, after }) => {
      const service = setting.startsWith('bindings.') ? setting.slice('bindings.'.length) : undefined;
      return service === undefined ? [] : [[service, after] as const];
    });
    await sendBindings(target, changed);
  }
  if (gate !== undefined) await target.send('PUT', 'gate', { enabled: gate });
  if (git !== undefined) {
    const source = file?.settings['git'];
    await (source === undefined ? target.send('DELETE', 'git') : target.send('PUT', 'git', source as object));
  }
  if (fields['image'] !== undefined && kind === 'apps') return target.deploy('PATCH', undefined, fields);
  if (Object.keys(fields).length > 0) await target.send('PATCH', undefined, fields);
  if (!isNewEnvironment) return kind === 'apps' || kind === 'functions' ? 'settings' : undefined;
  if (kind === 'apps') return target.deploy('POST', 'restart');
  if (kind === 'functions') await target.send('POST', 'restart');
  return kind === 'functions' ? 'settings' : undefined;
}

/** The API replaces the trigger and its events together, and the code of a function comes from its file. */
function functionFields({ file, body }: ObjectPlan, fields: Record<string, unknown>): Record<string, unknown> {
  const desired = file?.settings ?? {};
  const { events, ...others } = fields;
  const changesTrigger = fields['trigger'] !== undefined || events !== undefined;
  return {
    ...others,
    ...(body['code'] !== undefined && { code: file?.code }),
    ...(changesTrigger && desired['events'] !== undefined && { events: events ?? desired['events'] }),
    ...(events !== undefined && desired['events'] === undefined && { trigger: desired['trigger'] ?? 'http' }),
  };
}

async function sendSecrets(target: Target, secrets: SecretValues): Promise<void> {
  for (const [name, value] of secrets) await target.send('PUT', `secrets/${segment(name)}`, { value });
}

async function sendBindings(target: Target, bindings: Iterable<readonly [string, unknown]>): Promise<void> {
  for (const [service, settings] of bindings) {
    const below = `bindings/${segment(service)}`;
    await (settings === undefined ? target.send('DELETE', below) : target.send('PUT', below, settings as object));
  }
}
