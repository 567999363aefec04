import { Link } from '@tanstack/react-router';
import type { Place } from '../api/queries.ts';
import { linkLook } from '../parts/page.tsx';
import { useFindPath } from '../shell/places.ts';

interface ObjectLink {
  kind: 'app' | 'function' | 'job' | 'service' | 'volume';
  name: string;
  /** What there is to say of it, after its name. */
  remark: string;
}

/** The names of objects of an environment, each with a link to its page. Nothing without objects. */
export function ObjectLinks({ place, items }: { place: Place; items: readonly ObjectLink[] }) {
  const find = useFindPath();
  return items.map(({ kind, name, remark }, index) => {
    const path = find(kind, { ...place, [kind]: name });
    return (
      <span key={`${kind} ${name} ${remark}`}>
        {index > 0 && ', '}
        {path === undefined ? (
          name
        ) : (
          // The router has this path, which only its types cannot know.
          <Link to={path as '/'} className={linkLook}>
            {name}
          </Link>
        )}{' '}
        {remark}
      </span>
    );
  });
}

/** The services that a workload is bound to; false without any, as {@link Facts} takes it. */
export function boundServices(place: Place, bindings: readonly { service: string; status: string }[] = []) {
  const items = bindings.map(({ service, status }) => ({
    kind: 'service' as const,
    name: service,
    remark: `(${status})`,
  }));
  return items.length > 0 && <ObjectLinks key="services" place={place} items={items} />;
}

/** The volumes that a workload mounts; false without any. */
export function mountedVolumes(place: Place, volumes: readonly { name: string; path: string }[]) {
  const items = volumes.map(({ name, path }) => ({ kind: 'volume' as const, name, remark: `at ${path}` }));
  return items.length > 0 && <ObjectLinks key="volumes" place={place} items={items} />;
}
