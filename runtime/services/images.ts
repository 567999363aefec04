import type { PlatformConfigSpec, ServerType } from '../contracts/resources/platform-config.ts';
import type { ServiceType } from '../contracts/resources/service.ts';
import { Problem } from '../domain/problem.ts';

/**
 * The commands that install the servers on a single machine. Most are Debian packages, MinIO is a Go module, and
 * FerretDB, the replacement for MongoDB there, is built from svc's repository.
 */
const installs: Readonly<Record<ServerType, string>> = {
  postgres: 'apt-get install postgresql',
  mysql: 'apt-get install mariadb-server',
  redis: 'apt-get install redis-server',
  minio: 'GOBIN=/usr/local/bin go install github.com/minio/minio@v0.0.0-20260212201848-7aac2a2c5b7c',
  mongodb: 'npm run program -- ferretdb /usr/local/bin',
};

/** The server and image of a new service. @throws Problem `service_not_installed` with the command that installs it */
export function serverOf(
  type: ServiceType,
  { serviceImages = {} }: Pick<PlatformConfigSpec, 'serviceImages'>,
): { type: ServerType; image: string } {
  const image = serviceImages[type];
  if (image !== undefined) return { type, image };
  const folder = type === 'mongodb' ? " in svc's folder" : '';
  throw new Problem(
    'service_not_installed',
    `Services of type ${type} are not installed: on a single machine run \`${installs[type]}\`${folder} and then \`svc up\`, in a cluster \`svc install\` with --image-${type} <image>. To use one that runs elsewhere: \`svc service create <name> --type ${type} --external <host>\`.`,
    { details: { type } },
  );
}
