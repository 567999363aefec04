import { copyFileSync, chmodSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { ferretdb, minio, obtainBinary } from '../testcluster/binaries.ts';
import { lineProgress } from '../testcluster/progress.ts';
import { defaultHome, layoutOf } from '../testcluster/settings.ts';

/** Builds a server that Debian has no package for, from its Go modules: `npm run program -- <name> <folder>`. */
const [name = '', folder] = process.argv.slice(2);
const tool = [minio, ferretdb].find((candidate) => candidate.name === name);
if (!tool || folder === undefined) {
  process.stderr.write('usage: npm run program -- minio|ferretdb FOLDER\n');
  process.exit(2);
}
const say = (line: string) => process.stderr.write(`${line}\n`);
const { path } = await obtainBinary(tool, layoutOf(defaultHome()).cache, lineProgress(say));
// Renamed into place, because a running program cannot be overwritten.
const target = join(folder, tool.name);
copyFileSync(path, `${target}.part`);
chmodSync(`${target}.part`, 0o755);
renameSync(`${target}.part`, target);
say(`created ${target}`);
