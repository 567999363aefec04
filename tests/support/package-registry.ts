import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer, type RequestListener } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { dirname, join } from 'node:path';
import type { Test } from 'tap';
import type { Platform } from './platform.ts';

/** The files of a package by their paths in its archive. */
type Files = Record<string, string>;

export interface PackageRegistry {
  /** Of npm. */
  npm: string;
  /** Of PyPI's simple index. */
  pypi: string;
  /** The requests, in order. */
  requestedPaths: string[];
  addNpm(name: string, version: string, files: Files): void;
  /** A wheel without compiled parts, or for `sdist` a source archive. */
  addPython(name: string, version: string, files: Files, kind?: 'wheel' | 'sdist'): void;
}

/**
 * A small registry of both kinds at an address of this machine, in a folder of the test; stopped at its end.
 * @param tls the key and certificate of a registry that is served over TLS
 */
export async function packageRegistry(
  t: { teardown(end: () => unknown): void; testdir(): string },
  host = '127.0.0.1',
  tls?: { key: string; certificate: string },
): Promise<PackageRegistry> {
  const folder = t.testdir();
  const served = new Map<string, { type: string; body: Buffer | string }>();
  const requestedPaths: string[] = [];
  const listener: RequestListener = (request, response) => {
    const path = decodeURIComponent(request.url ?? '');
    requestedPaths.push(path);
    const content = served.get(path);
    response.writeHead(content ? 200 : 404, { 'content-type': content?.type ?? 'application/json' });
    response.end(content?.body ?? '{"error":"not found"}');
  };
  const server = tls ? createTlsServer({ key: tls.key, cert: tls.certificate }, listener) : createServer(listener);
  server.listen(0, host);
  await once(server, 'listening');
  t.teardown(() => {
    server.close();
    server.closeAllConnections();
  });
  const bound = server.address();
  const base = `${tls ? 'https' : 'http'}://${host}:${typeof bound === 'object' && bound ? bound.port : 0}`;

  const write = (root: string, files: Files) => {
    for (const [path, content] of Object.entries(files)) {
      mkdirSync(dirname(join(root, path)), { recursive: true });
      writeFileSync(join(root, path), content);
    }
  };
  const indices = new Map<string, string[]>();
  const packuments = new Map<string, Record<string, object>>();
  return {
    npm: `${base}/npm/`,
    pypi: `${base}/simple`,
    requestedPaths,
    addNpm(name, version, files) {
      const root = join(folder, 'npm', name, version);
      write(join(root, 'package'), files);
      execFileSync('tar', ['-czf', 'package.tgz', 'package'], { cwd: root });
      const body = readFileSync(join(root, 'package.tgz'));
      const path = `/npm/${name}/-/${version}.tgz`;
      served.set(path, { type: 'application/octet-stream', body });
      const integrity = `sha512-${createHash('sha512').update(body).digest('base64')}`;
      const { scripts, dependencies } = JSON.parse(files['package.json'] ?? '{}') as Record<string, object>;
      const versions = packuments.get(name) ?? {};
      versions[version] = {
        name,
        version,
        scripts,
        dependencies,
        dist: { tarball: base + path, integrity },
        ...(scripts && { hasInstallScript: true }),
      };
      packuments.set(name, versions);
      const packument = { name, 'dist-tags': { latest: version }, versions };
      served.set(`/npm/${name}`, { type: 'application/json', body: JSON.stringify(packument) });
    },
    addPython(name, version, files, kind = 'wheel') {
      const root = join(folder, 'python', name, `${version}-${kind}`);
      const metadata = `Metadata-Version: 2.1\nName: ${name}\nVersion: ${version}\n`;
      const information = `${name}-${version}.dist-info`;
      const file = kind === 'wheel' ? `${name}-${version}-py3-none-any.whl` : `${name}-${version}.tar.gz`;
      if (kind === 'wheel') {
        const tag = 'Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n';
        const own = { [`${information}/METADATA`]: metadata, [`${information}/WHEEL`]: tag };
        const all: Files = { ...files, ...own, [`${information}/RECORD`]: '' };
        write(root, all);
        const tops = [...new Set(Object.keys(all).map((path) => path.split('/')[0] ?? ''))];
        execFileSync('python3', ['-m', 'zipfile', '-c', file, ...tops], { cwd: root });
      } else {
        write(join(root, `${name}-${version}`), { 'PKG-INFO': metadata, ...files });
        execFileSync('tar', ['-czf', file, `${name}-${version}`], { cwd: root });
      }
      served.set(`/files/${file}`, { type: 'application/octet-stream', body: readFileSync(join(root, file)) });
      const links = [...(indices.get(name) ?? []), `<a href="${base}/files/${file}">${file}</a>`];
      indices.set(name, links);
      served.set(`/simple/${name}/`, {
        type: 'text/html',
        body: `<!DOCTYPE html><html><body>${links.join('')}</body></html>`,
      });
    },
  };
}

/** Makes builds and functions of the platform take npm packages from a registry, until the test ends. */
export async function useNpmRegistry(
  t: Test,
  { kubectl }: Pick<Platform, 'kubectl'>,
  registry: PackageRegistry,
): Promise<void> {
  const configure = async (packageRegistries: object | null) => {
    const patch = JSON.stringify({ spec: { packageRegistries } });
    return kubectl('patch', 'platformconfig', 'platform', '--type', 'merge', '-p', patch);
  };
  t.equal((await configure({ npm: registry.npm })).code, 0);
  t.teardown(() => configure(null));
}
