import {
  buildTimeoutRange,
  defaultProfile,
  platformProfiles,
} from '../../runtime/contracts/resources/platform-config.ts';
import { command } from '../command.ts';
import { amount, choice, duration, requiredText, text, texts, toggle, type FlagValues } from '../flags.ts';
import { outputFormats } from '../output.ts';

const flags = {
  kubeconfig: text('<file>', 'kubeconfig of the cluster (KUBECONFIG; default ~/.kube/config)'),
  appsDomain: requiredText('<domain>', 'domain of public URLs; a wildcard DNS record leads to the ingress'),
  cluster: requiredText('<name>', "the cluster's name in function hosts"),
  scheme: choice(['http', 'https'], 'how clients reach the ingress (default https)'),
  publicPort: amount('<port>', "ingress port as clients see it (default: the scheme's own)", { min: 1, max: 65_535 }),
  entryPoint: texts('<name>', 'entry point of Traefik that serves public routes (default websecure; web for http)'),
  ingressAddress: text('<address>', "ingress inside the cluster (default: found by Traefik's Service)"),
  profile: choice(platformProfiles, `how large the installation is (default ${defaultProfile})`),
  trustedProxy: texts(
    '<network>',
    'proxy before the ingress whose X-Forwarded-For counts; trustedIPs of the entry point must name it, too',
  ),
  scrape: toggle("have a Prometheus operator collect the gate's metrics (makes a PodMonitor)"),
  registry: text(
    '<registry>',
    'where the images are: <registry>/svc/<name>:<version> (default: an installation keeps its images)',
  ),
  imagePlatform: text('<image>', "image of the platform's processes"),
  imageFunctionNode: text('<image>', 'image of the Node runtime of functions'),
  imageFunctionPython: text(
    '<image>',
    'image of the Python runtime (default <registry>/svc/function-python:<version>)',
  ),
  imagePostgres: text('<image>', 'image of PostgreSQL'),
  imageRedis: text('<image>', 'image of Redis'),
  imageMysql: text('<image>', 'image of MySQL services (default <registry>/svc/mariadb:<version>)'),
  imageMinio: text('<image>', 'image of MinIO services (default <registry>/svc/minio:<version>)'),
  imageMongodb: text('<image>', 'image of MongoDB services (default <registry>/svc/ferretdb:<version>)'),
  imageBuilder: text('<image>', 'image of builds from git (default <registry>/svc/builder:<version>)'),
  imageBuildNode: text('<image>', 'base of built Node programs (default: the Node runtime of functions)'),
  imageBuildPython: text('<image>', 'base of built Python programs (default <registry>/svc/build-python:<version>)'),
  npmRegistry: text('<url>', 'npm registry of builds and of the dependencies of functions (default the public one)'),
  pypiIndex: text(
    '<url>',
    'Python index of builds and of the dependencies of functions, such as https://pypi.example.com/simple',
  ),
  buildRegistry: text('<registry>', 'registry and path that built images get (default <registry>/builds)'),
  gitNetwork: texts('<network>', 'private network that git servers may be in'),
  buildsAtOnce: amount('<n>', 'builds that go on at once (default 2)', { min: 1, max: 100 }),
  buildTimeout: duration('<duration>', 'how long a build may take (default 25m)', buildTimeoutRange),
  buildPush: text('<address>', 'where builds reach that registry, such as http://10.0.0.5:5000 (default https)'),
  adminEmail: text('<address>', "the first admin's e-mail address (default admin@svc.local)"),
  adminPasswordFile: text('<file>', "write the first admin's generated password to this file (mode 0600)"),
  dryRun: toggle('print the manifests instead of applying them'),
  timeout: duration('<duration>', 'how long to wait until everything is ready (default 10m)'),
  failpoints: toggle('let files in /failpoints kill the workers, for tests', { hidden: true }),
  output: choice(outputFormats, 'how to print data (default table)', { short: 'o' }),
};

export type InstallFlags = FlagValues<typeof flags>;

export const installCommand = command({
  name: 'install',
  description: 'Install the platform into a Kubernetes cluster, or bring an installation up to date.',
  flags,
  examples: [
    'svc install --apps-domain apps.example.com --cluster home --registry registry.example.com',
    'svc install --apps-domain apps.localhost --cluster local --scheme http --public-port 8080 --registry localhost:5000',
    'svc install --apps-domain apps.example.com --cluster home --registry registry.example.com --dry-run > svc.yaml',
  ],
  async run({ context, flags: given }) {
    const { install } = await import('./install.ts');
    await install(context, given);
  },
});
