import { buildTimeoutRange, defaultProfile, platformProfiles } from '../../runtime/domain/platform-profile.ts';
import { amount, choice, duration, requiredText, text, texts, toggle, type FlagValues } from '../flags.ts';
import { outputFlag } from '../common-flags.ts';

export const installFlags = {
  kubeconfig: text('<file>', 'kubeconfig of the cluster (KUBECONFIG; default ~/.kube/config)'),
  appsDomain: requiredText('<domain>', 'domain of public URLs, with a wildcard DNS record to the ingress'),
  cluster: requiredText('<name>', 'cluster name in function hosts'),
  scheme: choice(['http', 'https'], 'scheme of public URLs (default https)'),
  publicPort: amount('<port>', "public port of the ingress (default: the scheme's)", { min: 1, max: 65_535 }),
  entryPoint: texts('<name>', 'Traefik entry point (default websecure; web for http)'),
  ingressAddress: text('<address>', "address of the ingress in the cluster (default: Traefik's Service)"),
  profile: choice(platformProfiles, `size of the installation (default ${defaultProfile})`),
  trustedProxy: texts('<network>', 'proxy whose X-Forwarded-For is trusted; list it in Traefik too'),
  scrape: toggle('create a PodMonitor for the metrics of the gate'),
  registry: text('<registry>', 'registry of <registry>/svc/<name>:<version> (default: keep images)'),
  imagePlatform: text('<image>', 'image of the platform'),
  imageFunctionNode: text('<image>', 'image of the Node runtime of functions'),
  imageFunctionPython: text('<image>', 'image of the Python runtime of functions'),
  imagePostgres: text('<image>', 'image of PostgreSQL'),
  imageRedis: text('<image>', 'image of Redis'),
  imageMysql: text('<image>', 'image of MySQL services (default <registry>/svc/mariadb)'),
  imageMinio: text('<image>', 'image of MinIO services (default <registry>/svc/minio)'),
  imageMongodb: text('<image>', 'image of MongoDB services (default <registry>/svc/ferretdb)'),
  imageBuilder: text('<image>', 'image of builds from git (default <registry>/svc/builder)'),
  imageBuildNode: text('<image>', 'base image for Node builds (default: the Node runtime)'),
  imageBuildPython: text('<image>', 'base image for Python builds (default <registry>/svc/build-python)'),
  npmRegistry: text('<url>', 'npm registry for builds and functions (default: public)'),
  pypiIndex: text('<url>', 'Python index for builds and functions (default: public)'),
  caFile: text('<file>', 'CA certificates for builds, dependencies and git, in PEM'),
  buildRegistry: text('<registry>', 'registry and path of built images (default <registry>/builds)'),
  gitNetwork: texts('<network>', 'private network of git servers'),
  buildsAtOnce: amount('<n>', 'concurrent builds (default 2)', { min: 1, max: 100 }),
  buildTimeout: duration('<duration>', 'maximum duration of a build (default 25m)', buildTimeoutRange),
  buildPush: text('<address>', 'address to push to, such as http://10.0.0.5:5000 (default https)'),
  adminEmail: text('<address>', "first admin's email address (default admin@svc.local)"),
  adminPasswordFile: text('<file>', "file for the first admin's generated password (mode 0600)"),
  dryRun: toggle('print the manifests instead of applying them'),
  timeout: duration('<duration>', 'how long to wait for readiness (default 10m)'),
  failpoints: toggle('let files in /failpoints kill the workers, for tests', { hidden: true }),
  ...outputFlag,
};

export type InstallFlags = FlagValues<typeof installFlags>;
