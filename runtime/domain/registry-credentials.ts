/**
 * What `Authorization: Basic` carries for a registry, from the text of a Docker configuration file; undefined without an
 * entry for exactly this registry, and for a file that is not valid. Pure.
 * https://kubernetes.io/docs/tasks/configure-pod-container/pull-image-private-registry/
 */
export function basicCredentials(text: string, host: string): string | undefined {
  const auths = authsOf(text);
  const names = [host, `https://${host}`, `http://${host}`, `https://${host}/v1/`, `https://${host}/v2/`];
  const entry = names.map((name) => auths.get(name)).find((candidate) => candidate !== undefined);
  if (!isRecord(entry)) return undefined;
  const { auth, username, password } = entry;
  if (auth !== undefined) return typeof auth === 'string' && /^[A-Za-z0-9+/]+={0,2}$/.test(auth) ? auth : undefined;
  if (typeof username !== 'string' || typeof password !== 'string') return undefined;
  return Buffer.from(`${username}:${password}`).toString('base64');
}

function authsOf(text: string): ReadonlyMap<string, unknown> {
  try {
    const file: unknown = JSON.parse(text);
    const auths = isRecord(file) ? file['auths'] : undefined;
    return new Map(isRecord(auths) ? Object.entries(auths) : []);
  } catch {
    return new Map();
  }
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}
