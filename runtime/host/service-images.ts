import type { PlatformConfigSpec, ServerType } from '../contracts/resources/platform-config.ts';
import type { ServiceType } from '../contracts/resources/service.ts';
import { Problem } from '../domain/problem.ts';

/** Debian's packages of the servers. */
const packages: Readonly<Record<ServerType, string>> = {
  postgres: 'postgresql',
  mysql: 'mariadb-server',
  redis: 'redis-server',
};

function isServer(type: ServiceType): type is ServerType {
  return Object.hasOwn(packages, type);
}

/** What a new service of this type runs. @throws Problem `service_not_installed`, which says what installs it */
export function serverOf(
  type: ServiceType,
  { serviceImages = {} }: Pick<PlatformConfigSpec, 'serviceImages'>,
): { type: ServerType; image: string } {
  const image = isServer(type) ? serviceImages[type] : undefined;
  if (isServer(type) && image !== undefined) return { type, image };
  const cure = isServer(type)
    ? `on a single machine run \`apt-get install ${packages[type]}\` and then \`svc up\`, in a cluster \`svc install\` with --image-${type} <image>`
    : 'the platform has no server for it yet';
  throw new Problem(
    'service_not_installed',
    `Services of type ${type} are not installed: ${cure}. One that runs elsewhere is registered with \`svc service create <name> --type ${type} --external <host>\`.`,
    { details: { type } },
  );
}
