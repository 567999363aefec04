import { isIP } from 'node:net';
import { ipv4InIpv6, isLoopbackNetwork } from './network.ts';
import { isEnvironmentOf, isNamespaceOfEnvironment } from './names.ts';
import { Problem } from './problem.ts';

/** Where builds push images: `<registry>/<namespace>/<app>:<tag>`. */
export interface BuildRegistry {
  /** Host and path, as nodes pull them. */
  registry: string;
  /** Another address of the same registry. */
  pushAddress?: string;
}

/** An image that a build made. */
export interface BuiltImage {
  /** The environment that it was built for. */
  namespace: string;
  app: string;
}

/**
 * The references that Kubernetes accepts, which include some that `checkImage` refuses: a host in upper case or an IPv6
 * address, and no tag. https://github.com/distribution/reference/blob/main/regexp.go
 */
const kubernetesReference =
  /^(?:(?:\[[a-fA-F0-9:]+\]|[a-zA-Z0-9][a-zA-Z0-9._-]*)(?::[0-9]+)?\/)?([a-z0-9][a-z0-9._/-]*)(?::[A-Za-z0-9_][A-Za-z0-9._-]{0,127})?(?:@sha256:[a-f0-9]{64})?$/;
const pathPart = /^[a-z0-9]+(?:(?:\.|__?|-+)[a-z0-9]+)*$/;

function isReference(image: string): boolean {
  const path = image.length <= imageMax ? kubernetesReference.exec(image)?.[1] : undefined;
  return path !== undefined && path.split('/').every((part) => pathPart.test(part));
}

/** Names under which Docker Hub is reached. */
const dockerHub = new Set(['docker.io', 'index.docker.io', 'registry-1.docker.io', 'registry.hub.docker.com']);

/** Longer than every reference that works: a repository has at most 255 characters, a tag 128, a digest 71. */
const imageMax = 1_024;

/** Ports that an address without a port may mean. */
const defaultPorts = new Set(['', '80', '443']);

/**
 * The build that an image name belongs to, whatever the spelling of its host; undefined for an image that no build of
 * this installation pushes. Pure.
 */
function builtImage(image: string, { registry, pushAddress }: BuildRegistry): BuiltImage | undefined {
  const own = repositoryOf(registry);
  const pushHost = pushAddress === undefined ? undefined : canonicalHost(new URL(pushAddress).host);
  const { host, path } = repositoryOf(image);
  if (host !== own.host && host !== pushHost) return undefined;
  if (!own.path.every((part, index) => path[index] === part)) return undefined;
  const [namespace, ...rest] = path.slice(own.path.length);
  if (namespace === undefined || rest.length === 0 || !isNamespaceOfEnvironment(namespace)) return undefined;
  return { namespace, app: rest.join('/') };
}

/** Where an image is about to run. */
export interface ImageUse {
  project: string;
  namespace: string;
}

/**
 * Checks that an image may run somewhere: an image that a build made runs only in environments of its project. This is
 * what controllers and workers check, since a promotion takes an image to another environment of the project.
 * @param builds the settings of builds; undefined when the installation builds nothing
 * @returns the build when the image was built for another environment of the project, else undefined
 * @throws Problem `image_not_allowed`, and `invalid_value` for text that is no image name
 */
export function checkImageProject(
  image: string,
  { project, namespace }: ImageUse,
  builds: BuildRegistry | undefined,
): BuiltImage | undefined {
  if (!builds) return undefined;
  if (!isReference(image)) {
    throw new Problem('invalid_value', `"${image.slice(0, 100)}" is not an image reference.`, {
      details: { field: 'image' },
    });
  }
  const build = builtImage(image, builds);
  if (!build || build.namespace === namespace) return undefined;
  if (isEnvironmentOf(build.namespace, project)) return build;
  throw imageNotAllowed(image);
}

/** Whether a build of this installation made an image, by its name. Pure. */
export function isBuilt(image: string, builds: BuildRegistry | undefined): boolean {
  return builds !== undefined && builtImage(image, builds) !== undefined;
}

/** What the names of all images begin with that are built for an environment. Pure. */
export function imagePrefix({ registry }: Pick<BuildRegistry, 'registry'>, namespace: string): string {
  return `${registry}/${namespace}/`;
}

/**
 * Where the registry has the images of an app: its address and the path of the repository. Undefined for a repository that
 * is not exactly the app's own, such as in a registry that builds pushed to before. Pure.
 */
export function repositoryAt(
  { registry, pushAddress }: BuildRegistry,
  { repository, namespace, app }: { repository: string; namespace: string; app: string },
): { address: string; path: string } | undefined {
  if (repository !== `${imagePrefix({ registry }, namespace)}${app}`) return undefined;
  const [host = '', ...path] = repository.split('/');
  return { address: pushAddress === undefined ? `https://${host}` : new URL(pushAddress).origin, path: path.join('/') };
}

/** Whether two image names have the same repository, whatever their hosts' spelling, tags and digests. Pure. */
export function isSameRepository(image: string, other: string): boolean {
  const [one, two] = [repositoryOf(image), repositoryOf(other)];
  return one.host === two.host && one.path.join('/') === two.path.join('/');
}

/** The same for an image that exists and for one that does not. */
export function imageNotAllowed(image: string): Problem {
  return new Problem(
    'image_not_allowed',
    `The image "${image.slice(0, 200)}" is reserved for the environment that it is built for. Use an image of your own, or promote a deployment within the project: svc app promote <app> --from <environment> --to <environment>.`,
    { details: { field: 'image' } },
  );
}

/** The host and path of an image name, in the form in which equal repositories are equal. */
function repositoryOf(image: string): { host: string; path: string[] } {
  const [name = ''] = image.split('@', 1);
  const colon = name.indexOf(':', name.lastIndexOf('/') + 1);
  const [first = '', ...rest] = (colon < 0 ? name : name.slice(0, colon)).split('/');
  const hasHost =
    rest.length > 0 && (/[.:[]/.test(first) || first.toLowerCase() === 'localhost' || /[A-Z]/.test(first));
  const host = canonicalHost(hasHost ? first : 'docker.io');
  const path = (hasHost ? rest : [first, ...rest]).map((part) => part.toLowerCase());
  // An official image of Docker Hub.
  return { host, path: host === 'docker.io' && path[0] === 'library' ? path.slice(1) : path };
}

/**
 * The host of a registry in one spelling: lower case, one form of each address (`127.1` and `localhost` are the same
 * machine), and no default port.
 */
function canonicalHost(text: string): string {
  if (!URL.canParse(`http://${text}`)) return text.toLowerCase();
  const { hostname, port } = new URL(`http://${text}`);
  const text6 = hostname.startsWith('[') ? hostname.slice(1, -1) : undefined;
  const name = text6 === undefined ? hostname.replace(/(?<!\.)\.+$/, '') : (ipv4InIpv6(text6) ?? text6);
  if (dockerHub.has(name)) return 'docker.io';
  const host = isThisMachine(name) ? 'localhost' : name;
  return defaultPorts.has(port) ? host : `${host}:${port}`;
}

function isThisMachine(name: string): boolean {
  if (name === 'localhost' || name.endsWith('.localhost')) return true;
  const family = isIP(name);
  return (
    name === '0.0.0.0' || name === '::' || (family !== 0 && isLoopbackNetwork(`${name}/${family === 4 ? 32 : 128}`))
  );
}
