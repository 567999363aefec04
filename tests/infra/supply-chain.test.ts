import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { buildParameters, ferretdb, kwok, minio, tools } from '../../infra/testcluster/binaries.ts';
import { readImportGraph } from '../support/import-graph.ts';

/** What is downloaded is pinned by digest: https://docs.npmjs.com/cli/configuring-npm/package-lock-json, https://go.dev/ref/mod#go-sum-files */
const root = join(import.meta.dirname, '../..');

interface LockEntry {
  resolved?: string;
  integrity?: string;
  link?: boolean;
  /** Part of the archive of the package above it, whose digest covers it. */
  inBundle?: boolean;
}

for (const file of ['package-lock.json', 'infra/local/function-node/package-lock.json']) {
  t.test(`${file} pins every package by its digest, and names no registry`, (t) => {
    const { packages } = JSON.parse(readFileSync(join(root, file), 'utf8')) as { packages: Record<string, LockEntry> };
    const entries = Object.entries(packages).filter(([path, { link, inBundle }]) => path !== '' && !link && !inBundle);
    t.ok(entries.length > 0);
    // npm writes no digest for binaries of other machines that its cache lacks: add what `npm view … dist.integrity` prints.
    const open = entries.filter(([, { integrity }]) => !integrity?.startsWith('sha512-'));
    t.same(open, []);
    t.same(
      entries.filter(([, { resolved }]) => resolved !== undefined),
      [],
    );
    t.end();
  });
}

t.test('Go modules are built as their go.sum pins them', (t) => {
  for (const tool of [...tools, minio, ferretdb, kwok]) {
    const folder = join(root, 'infra/testcluster/build', tool.name);
    const requires = readFileSync(join(folder, 'go.mod'), 'utf8').includes('require');
    t.equal(existsSync(join(folder, 'go.sum')), requires, tool.name);
    t.ok(buildParameters(tool, 'out').includes('-mod=readonly'), tool.name);
  }
  t.end();
});

t.test('nothing switches the verification of downloads off', (t) => {
  const switches =
    /GONOSUM|GOSUMDB|GOINSECURE|GOFLAGS|--no-check-certificate|strict-ssl|--trusted-host|--allow-unauthenticated|NODE_TLS_REJECT_UNAUTHORIZED/;
  const { files } = readImportGraph(root);
  const workflows = readdirSync(join(root, '.ci')).map((name) => join('.ci', name));
  const own = 'tests/infra/supply-chain.test.ts';
  const matches = [...files, ...workflows, 'package.json'].filter((file) => {
    return file !== own && switches.test(readFileSync(join(root, file), 'utf8'));
  });
  t.same(matches, []);
  t.end();
});
