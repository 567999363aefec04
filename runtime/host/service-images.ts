import type { PlatformConfigSpec, ServerType } from '../contracts/resources/platform-config.ts';
import type { ServiceType } from '../contracts/resources/service.ts';
import { Problem } from '../domain/problem.ts';

/** What installs the servers on a single machine: most are packages of Debian, and MinIO is a Go module (of this release). */
const installs: Readonly<Record<ServerType, string>> = {
  postgres: 'apt-get install postgresql',
  mysql: 'apt-get install mariadb-server',
  redis: 'apt-get install redis-server',
  minio: 'GOBIN=/usr/local/bin go install github.com/minio/minio@v0.0.0-20260212201848-7aac2a2c5b7c',
};

function isServer(type: ServiceType): type is ServerType {
  return Object.hasOwn(installs, type);
}

/** What a new service of this type runs. @throws Problem `service_not_installed`, which says what installs it */
export function serverOf(
  type: ServiceType,
  { serviceImages = {} }: Pick<PlatformConfigSpec, 'serviceImages'>,
): { type: ServerType; image: string } {
  const image = isServer(type) ? serviceImages[type] : undefined;
  if (isServer(type) && image !== undefined) return { type, image };
  const cure = isServer(type)
    ? `on a single machine run \`${installs[type]}\` and then \`svc up\`, in a cluster \`svc install\` with --image-${type} <image>`
    : 'the platform has no server for it yet';
  throw new Problem(
    'service_not_installed',
    `Services of type ${type} are not installed: ${cure}. One that runs elsewhere is registered with \`svc service create <name> --type ${type} --external <host>\`.`,
    { details: { type } },
  );
}
