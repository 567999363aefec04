import type { AuditEntryView } from '../../../../runtime/contracts/api/audit.ts';
import type { FindPath, PlaceName } from '../shell/places.ts';

/** The environments that exist, by project. */
export type KnownPlaces = ReadonlyMap<string, readonly string[]>;

/** The pages of objects in an environment, whose parameter has the name of the kind. */
const inEnvironment: readonly PlaceName[] = ['app', 'function', 'job', 'service', 'volume', 'key'];

/**
 * The page of an entry's object; undefined where there is none, or where the object was deleted, as far as the entry and
 * the existing projects tell. Pure.
 */
export function pathOfObject(
  find: FindPath,
  { action, project, environment, object }: Pick<AuditEntryView, 'action' | 'project' | 'environment' | 'object'>,
  places: KnownPlaces,
): string | undefined {
  if (!object) return undefined;
  const { kind, name } = object;
  if (action === `${kind}.delete` || action === `${kind}.revoke`) return undefined;
  if (project === undefined) return kind === 'user' ? find('user', { user: name }) : undefined;
  const environments = places.get(project);
  if (!environments) return undefined;
  if (kind === 'project') return find('settings', { project });
  if (kind === 'user') return find('members', { project });
  if (kind === 'notification') return find('notifications', { project });
  if (environment === undefined || !environments.includes(environment)) return undefined;
  const place = { project, environment };
  if (kind === 'environment') return find('overview', place);
  if (kind === 'plan') return find('plans', place);
  const page = inEnvironment.find((candidate) => candidate === kind);
  return page && find(page, { ...place, [kind]: name });
}
