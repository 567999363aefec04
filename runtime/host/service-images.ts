import type { PlatformConfigSpec, ServerType } from '../contracts/resources/platform-config.ts';
import type { ServiceType } from '../contracts/resources/service.ts';
import { Problem } from '../domain/problem.ts';

/**
 * What installs the servers on a single machine: most are packages of Debian, MinIO is a Go module (of this release), and
 * FerretDB, which stands in for MongoDB there, is built by svc's own folder.
 */
const installs: Readonly<Record<ServerType, string>> = {
  postgres: 'apt-get install postgresql',
  mysql: 'apt-get install mariadb-server',
  redis: 'apt-get install redis-server',
  minio: 'GOBIN=/usr/local/bin go install github.com/minio/minio@v0.0.0-20260212201848-7aac2a2c5b7c',
  mongodb: 'npm run program -- ferretdb /usr/local/bin',
};

/** What a new service of this type runs. @throws Problem `service_not_installed`, which says what installs it */
export function serverOf(
  type: ServiceType,
  { serviceImages = {} }: Pick<PlatformConfigSpec, 'serviceImages'>,
): { type: ServerType; image: string } {
  const image = serviceImages[type];
  if (image !== undefined) return { type, image };
  const place = type === 'mongodb' ? " in svc's folder" : '';
  throw new Problem(
    'service_not_installed',
    `Services of type ${type} are not installed: on a single machine run \`${installs[type]}\`${place} and then \`svc up\`, in a cluster \`svc install\` with --image-${type} <image>. One that runs elsewhere is registered with \`svc service create <name> --type ${type} --external <host>\`.`,
    { details: { type } },
  );
}
