const key = 'svc-recent';
const most = 8;

/** An object whose page the user has opened. */
export interface RecentObject {
  /** The path of its page. */
  path: string;
  kind: string;
  name: string;
  project: string;
  environment: string;
}

const objectPath =
  /^\/projects\/([a-z0-9-]+)\/environments\/([a-z0-9-]+)\/(app|function|job|service|volume)s\/([a-z0-9-]+)(?=\/|$)/;

/** The object of a page; undefined for other pages. Pure. */
export function objectOf(pathname: string): RecentObject | undefined {
  const [path, project, environment, kind, name] = objectPath.exec(pathname) ?? [];
  if (!path || !project || !environment || !kind || !name) return undefined;
  return { path, kind, name, project, environment };
}

/**
 * The objects that this user opened last in this browser, newest first. They are stored by path, as the browser's history
 * is, and no other user of the browser sees them.
 */
export function recentObjects(email: string): RecentObject[] {
  try {
    const { of, paths } = JSON.parse(localStorage.getItem(key) ?? '{}') as { of?: unknown; paths?: unknown };
    if (of !== email || !Array.isArray(paths)) return [];
    return paths.flatMap((path) => (typeof path === 'string' ? (objectOf(path) ?? []) : []));
  } catch {
    // Changed by hand, or the browser stores nothing.
    return [];
  }
}

/** Puts the object of a page first. */
export function rememberObject(email: string, pathname: string): void {
  const object = objectOf(pathname);
  if (!object) return;
  const others = recentObjects(email).filter(({ path }) => path !== object.path);
  const paths = [object, ...others].slice(0, most).map(({ path }) => path);
  try {
    localStorage.setItem(key, JSON.stringify({ of: email, paths }));
  } catch {
    // The palette then has no recent objects.
  }
}

/** For the next user of the browser. */
export function forgetObjects(): void {
  try {
    localStorage.removeItem(key);
  } catch {
    // Nothing was stored.
  }
}
