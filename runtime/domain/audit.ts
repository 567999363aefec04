/** The actions of the audit log (docs/reference/logs.md#audit). Entries are kept, so an action is added, never renamed. */
export const auditActions = [
  'app.create',
  'app.delete',
  'app.exec',
  'app.hosts',
  'app.port-forward',
  'app.promote',
  'app.restart',
  'app.rollback',
  'app.run',
  'app.run.stop',
  'app.update',
  'assistant.ask',
  'binding.delete',
  'binding.set',
  'configuration.apply',
  'configuration.forget',
  'dead-letters.purge',
  'dead-letters.redrive',
  'deployment.cancel',
  'environment.create',
  'environment.delete',
  'environment.update',
  'function.create',
  'function.delete',
  'function.exec',
  'function.invoke',
  'function.restart',
  'function.test',
  'function.update',
  'gate.disable',
  'gate.enable',
  'git.build',
  'git.remove',
  'git.set',
  'git.sync',
  'image.delete',
  'image.delete.request',
  'image.prune',
  'job.create',
  'job.delete',
  'job.exec',
  'job.run',
  'job.update',
  'key.create',
  'key.disable',
  'key.enable',
  'key.revoke',
  'key.rotate',
  'key.update',
  'member.remove',
  'member.set',
  'notification.create',
  'notification.delete',
  'notification.redeliver',
  'notification.rotate',
  'notification.test',
  'notification.update',
  'plan.create',
  'plan.delete',
  'plan.update',
  'platform.alerts.silence',
  'platform.alerts.unsilence',
  'platform.assistant.remove',
  'platform.assistant.set',
  'platform.assistant.test',
  'platform.component.update',
  'platform.config.update',
  'platform.log-drain.remove',
  'platform.log-drain.set',
  'platform.log-drain.test',
  'platform.notification.create',
  'platform.notification.delete',
  'platform.notification.redeliver',
  'platform.notification.rotate',
  'platform.notification.test',
  'platform.notification.update',
  'project.create',
  'project.delete',
  'secret.delete',
  'secret.restore',
  'secret.reveal',
  'secret.set',
  'service.create',
  'service.credentials.reveal',
  'service.delete',
  'service.port-forward',
  'session.end',
  'source.build',
  'token.create',
  'token.revoke',
  'tool.call',
  'user.create',
  'user.delete',
  'user.password.change',
  'user.password.reset',
  'user.update',
  'variables.update',
  'volume.create',
  'volume.delete',
  'volume.resize',
  'webhook.disable',
  'webhook.enable',
  'webhook.redeliver',
  'webhook.test',
  'webhook.update',
] as const;

export type AuditAction = (typeof auditActions)[number];

/** The actor of what the platform does by itself. */
export const platformActor = 'svc';

/** The fields of an audit line, as the log has them. */
export interface AuditLine {
  action: AuditAction;
  /** A user's email address, `token <name>`, or {@link platformActor}. */
  actor: string;
  /** The access token with which the change was made, and the user for whom it acts. */
  token?: { id: string; name: string; user: string };
  project?: string | undefined;
  projectId?: string | undefined;
  environment?: string | undefined;
  /** The object, and fields of the action. */
  [field: string]: unknown;
}

/** What an entry is about. */
export interface AuditObject {
  /** Such as `app`, `key` or `user`. */
  kind: string;
  name: string;
}

/** The fields that name the object of an entry, the most specific first: of a binding, it is the workload. */
const objectFields = [
  // Of a call, the other fields are its arguments.
  { field: 'tool' },
  { field: 'app' },
  { field: 'function' },
  { field: 'job' },
  { field: 'service' },
  { field: 'volume' },
  { field: 'apiKey', kind: 'key', name: 'handle' },
  { field: 'plan' },
  { field: 'accessToken', kind: 'token' },
  { field: 'notification' },
  { field: 'user', name: 'email' },
  { field: 'configuration' },
  { field: 'image' },
  { field: 'component' },
  { field: 'silence', name: 'alert' },
] as const satisfies readonly { field: string; kind?: string; name?: string }[];

/** The object of an audit line; undefined for what concerns no single one. Pure. */
export function auditObjectOf(line: AuditLine): AuditObject | undefined {
  for (const entry of objectFields) {
    const { field, kind = field, name: key = 'name' }: { field: string; kind?: string; name?: string } = entry;
    const value = line[field];
    const name = typeof value === 'string' ? value : (textIn(value, key) ?? textIn(value, 'id'));
    if (name !== undefined) return { kind, name };
  }
  const [area] = line.action.split('.');
  if (area !== 'environment' && area !== 'project') return undefined;
  const { [area]: name } = line;
  return name === undefined ? undefined : { kind: area, name };
}

function textIn(value: unknown, key: string): string | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  const text = (value as Readonly<Record<string, unknown>>)[key];
  return typeof text === 'string' ? text : undefined;
}

/** A longer field of an action is left out, because a list can be as long as a request. In characters of its JSON. */
const fieldMax = 4_096;
/** Fields that an entry has apart. */
const ownFields: readonly string[] = ['action', 'actor', 'token', 'method', 'project', 'projectId', 'environment'];

/** The fields of the action, without those that an entry has apart, and cut to what is stored. Pure. */
export function auditDetailsOf(line: AuditLine): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(line).flatMap(([name, value]) => {
      const text = ownFields.includes(name) ? undefined : JSON.stringify(value);
      if (text === undefined) return [];
      return [[name, text.length > fieldMax ? `(${text.length} characters)` : value]];
    }),
  );
}
