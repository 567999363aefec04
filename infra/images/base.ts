import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { ferretdb, minio, obtainBinary, type Binary, type Tool } from '../testcluster/binaries.ts';
import { lineProgress } from '../testcluster/progress.ts';
import { defaultHome, layoutOf } from '../testcluster/settings.ts';
import { run, type Buildah } from './buildah.ts';
import { digestOf } from './digest.ts';

interface Base {
  /** The version of Node on it. */
  node?: string;
  packages: readonly string[];
  /** A program that is built from Go modules. */
  program?: Tool;
}

/** The local bases, each made from Debian's packages; this file's digest stands in their names. */
export const bases = {
  node24: { node: '24.21.0', packages: [] },
  node22: { node: '22.23.3', packages: [] },
  platform: { node: '24.21.0', packages: ['git', 'openssh-client'] },
  builder: { node: '24.21.0', packages: ['git', 'openssh-client', 'buildah', 'skopeo', 'uidmap'] },
  python: { packages: ['python3', 'python3-venv', 'python3-pip'] },
  postgres: { packages: ['postgresql-15'] },
  redis: { packages: ['redis-server'] },
  mariadb: { packages: ['mariadb-server'] },
  minio: { packages: [], program: minio },
  ferretdb: { packages: [], program: ferretdb },
} as const satisfies Record<string, Base>;

/** A base of {@link bases}. */
export type BaseName = keyof typeof bases;

/** The npm that a base for Node carries, so that a Dockerfile can install what its lock file says. */
const npmVersion = '11.21.2';

/** What no container needs, a third of the size, and what debootstrap takes over from this machine. */
const superfluous = [
  'usr/share/doc',
  'usr/share/man',
  'usr/share/locale',
  'usr/share/info',
  'var/cache/apt',
  'var/lib/apt/lists',
  'etc/resolv.conf',
  'etc/hostname',
];

/** Keeps later packages as small. */
const slimPackages = superfluous
  .filter((path) => path.startsWith('usr/share/'))
  .map((path) => `path-exclude=/${path}/*\n`)
  .join('');

const architecture = process.arch === 'arm64' ? 'arm64' : 'x64';

/**
 * Makes the bases that stand in for the public ones: Debian's minimal system with tini and certificates, and on it Node
 * from its npm package, or a server from Debian's packages or Go modules. Each is made once for its recipe.
 */
export function createBases(options: { buildah: Buildah; folder: string; log: (line: string) => void }): {
  /** Begins to build the programs of bases that are wanted later: Go uses the processor, and Debian's packages the disk. */
  begin(names: readonly BaseName[]): void;
  /** The local name of a base, made when it is not there. */
  ensure(name: BaseName): Promise<string>;
} {
  const { buildah, folder, log } = options;
  const recipe = digestOf(import.meta.dirname, ['base.ts']);
  const made = new Map<string, Promise<string>>();

  const once = (tag: string, make: (name: string) => Promise<void>): Promise<string> => {
    const name = `localhost/svc-base:${tag}-${recipe}`;
    const known = made.get(tag);
    if (known) return known;
    const making = (async () => {
      const listed = await buildah(['images', '--quiet', '--filter', `reference=${name}`]);
      if (!listed.trim()) await make(name);
      return name;
    })();
    made.set(tag, making);
    return making;
  };

  const debian = () =>
    once('debian', async (name) => {
      log('images: a minimal Debian');
      const root = mkdtempSync(join(folder, 'debian-'));
      try {
        await run('debootstrap', ['--variant=minbase', '--include=ca-certificates,tini', 'bookworm', root]);
        for (const path of superfluous) rmSync(join(root, path), { recursive: true, force: true });
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

  /** The folder of a package from the npm registry, unpacked; it appears when it is whole. */
  const unpacked = async (name: string, version: string): Promise<string> => {
    const target = join(folder, `${name}-${version}`);
    if (existsSync(target)) return join(target, 'package');
    const work = mkdtempSync(join(folder, 'package-'));
    try {
      const packed = await run('npm', ['pack', '--silent', `${name}@${version}`], { cwd: work });
      const archive = join(work, packed.trim().split('\n').at(-1) ?? '');
      await run('tar', ['-xzf', archive], { cwd: work });
      rmSync(archive);
      renameSync(work, target);
    } finally {
      rmSync(work, { recursive: true, force: true });
    }
    return join(target, 'package');
  };

  const withNode = (tag: BaseName, version: string, packages: readonly string[]) =>
    once(tag, async (name) => {
      const from = packages.length === 0 ? await debian() : await withPackages(`${tag}-packages`, packages);
      log(`images: Node ${version} on it`);
      const node = await unpacked(`node-linux-${architecture}`, version);
      const npm = await unpacked('npm', npmVersion);
      await commit(name, from, async (container) => {
        await buildah(['copy', '--quiet', container, join(node, 'bin/node'), '/usr/local/bin/node']);
        await buildah(['copy', '--quiet', container, npm, '/usr/local/lib/node_modules/npm']);
        const link = 'ln -s ../lib/node_modules/npm/bin/npm-cli.js /usr/local/bin/npm';
        await buildah(['run', '--isolation', 'chroot', container, '--', 'sh', '-c', link]);
      });
    });

  const programs = new Map<Tool, Promise<Binary>>();
  const progress = lineProgress((line) => log(`images: ${line}`));

  /** Of several, one after the other: each build uses all cores. */
  const builtProgram = (tool: Tool): Promise<Binary> => {
    const known = programs.get(tool);
    if (known) return known;
    const before = Promise.allSettled(programs.values());
    const building = before.then(() => obtainBinary(tool, layoutOf(defaultHome()).cache, progress));
    programs.set(tool, building);
    return building;
  };

  const withProgram = async (tool: Tool) => {
    const from = await debian();
    const { folder: built, path } = await builtProgram(tool);
    return once(basename(built), (name) =>
      commit(name, from, (container) => buildah(['copy', '--quiet', container, path, `/usr/local/bin/${tool.name}`])),
    );
  };

  const withPackages = (tag: string, packages: readonly string[]) =>
    once(tag, async (name) => {
      const from = await debian();
      log(`images: ${packages.join(', ')} on it`);
      const install = [
        'export DEBIAN_FRONTEND=noninteractive',
        // Debian's package makes a database cluster of its own, unless it is told not to.
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
    begin(names) {
      for (const name of names) {
        const { program }: Base = bases[name];
        // Whoever needs it is told why there is none.
        if (program) builtProgram(program).catch(() => undefined);
      }
    },

    ensure(name) {
      const { node, packages, program }: Base = bases[name];
      if (program) return withProgram(program);
      return node === undefined ? withPackages(name, packages) : withNode(name, node, packages);
    },
  };
}
