import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import { createBuildah } from '../../../../infra/images/builder/buildah.ts';
import { readSettings } from '../../../../infra/images/builder/settings.ts';

/** Prints its storage driver into a file, and fails to mount an overlay when the file `forbidden` exists. */
const program = `#!/bin/sh
here=$(dirname "$0")
case "$*" in
*info*)
  echo asked >>"$here/asked"
  mkdir -p "$WORKSPACE/probe/root"
  if [ "$STORAGE_DRIVER" != overlay ] || [ -e "$here/forbidden" ]; then exit 125; fi ;;
*) echo "$STORAGE_DRIVER" >"$here/driver" ;;
esac
`;

t.test('a build uses overlay where it may mount one, and otherwise vfs', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'svc-storage-'));
  const before = process.env['PATH'];
  t.teardown(() => {
    process.env['PATH'] = before;
    delete process.env['WORKSPACE'];
    rmSync(folder, { recursive: true, force: true });
  });
  writeFileSync(join(folder, 'buildah'), program);
  chmodSync(join(folder, 'buildah'), 0o755);
  process.env['PATH'] = `${folder}:${before}`;
  const driver = async () => {
    const workspace = t.testdir({});
    process.env['WORKSPACE'] = workspace;
    const settings = readSettings({
      BUILD_WORKSPACE: workspace,
      BUILD_IMAGE: 'r.test/x:1',
      BUILD_TARGET: 'r.test/x:1',
      BUILD_RESULT: join(workspace, 'result'),
    });
    const buildah = createBuildah(settings, { context: workspace });
    rmSync(join(folder, 'asked'), { force: true });
    await buildah.digestOf(`r.test/x@sha256:${'0'.repeat(64)}`);
    t.notOk(existsSync(join(folder, 'asked')), 'a build that stores nothing does not ask');
    for (const destination of ['oci:y', 'oci:z']) await buildah.push('x', destination);
    t.equal(readFileSync(join(folder, 'asked'), 'utf8'), 'asked\n', 'a build asks once');
    t.notOk(existsSync(join(workspace, 'probe')), 'the question leaves nothing');
    return readFileSync(join(folder, 'driver'), 'utf8').trim();
  };
  t.equal(await driver(), 'overlay');
  writeFileSync(join(folder, 'forbidden'), '');
  t.equal(await driver(), 'vfs');
});
