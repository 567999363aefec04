import { auditEntryView, type AuditEntryView } from '../../runtime/contracts/api/audit.ts';
import { page } from '../../runtime/contracts/api/common.ts';
import type { auditFlags } from '../audit-flags.ts';
import type { Context } from '../context.ts';
import type { FlagValues } from '../flags.ts';
import { ago, table, type Column } from '../output.ts';
import { resolvePlatform, resolveProject } from '../scope.ts';

const limitDefault = 50;

/** Who acted: the user, and through which access token. */
function actorText({ actor, token }: AuditEntryView): string {
  return token === undefined ? actor : `${actor} (token ${token.name})`;
}

/** Runs `svc audit`. */
export async function printAudit(context: Context, flags: FlagValues<typeof auditFlags>): Promise<void> {
  const { platform, project, environment, action, actor, object, since, until, limit = limitDefault } = flags;
  const now = context.clock.now();
  const timeAt = (age: number | undefined) =>
    age === undefined ? undefined : new Date(now.getTime() - age * 1000).toISOString();
  const filters = { action, actor, object, since: timeAt(since), until: timeAt(until), limit };
  // Only the flags limit the list: a default project or environment would leave out what concerns no environment.
  const scope = platform ? resolvePlatform(context, flags) : resolveProject(context, flags);
  const path = scope.path(platform ? 'platform/audit' : 'audit');
  const query = { ...filters, environment, ...(platform && { project }) };
  const { items, nextCursor } = await scope.api.call('GET', path, page(auditEntryView), { query });
  const projectColumn: Column<AuditEntryView> = { title: 'PROJECT', value: (entry) => entry.project };
  const columns: Column<AuditEntryView>[] = [
    { title: 'WHEN', value: ({ at }) => ago(at, now) },
    { title: 'ACTOR', value: actorText },
    { title: 'ACTION', value: (entry) => entry.action },
    ...(platform ? [projectColumn] : []),
    { title: 'ENVIRONMENT', value: (entry) => entry.environment },
    { title: 'OBJECT', value: (entry) => entry.object && `${entry.object.kind}/${entry.object.name}` },
  ];
  context.print({ data: items, table: table(items, columns), names: items.map(({ id }) => id) }, flags.output);
  if (items.length === 0) context.say('no entries match');
  else if (nextCursor !== undefined) context.say(`more entries are older than these ${limit}; see --limit and --until`);
}
