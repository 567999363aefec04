import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { writePackageFolder } from '../../../infra/package/package-folder.ts';
import { median, printFigure } from '../figure.ts';

const rounds = 20;
const root = join(import.meta.dirname, '../../..');

/**
 * The start of `svc` in a new process, in ms of wall time: of a command that loads its group and prints its help, and of one
 * that asks an API that answers at once, from the clone and from the npm package; and of Node.js alone, which no command can
 * be faster than. They take turns, so that what else the machine does slows all of them. The cache of compiled modules is
 * warm, as after any first command. Needs no platform.
 */
export async function run(): Promise<void> {
  const home = mkdtempSync(join(tmpdir(), 'svc-start-'));
  const server = createServer((_, response) => {
    response.setHeader('content-type', 'application/json').end('{"items":[]}');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const env = {
    PATH: process.env['PATH'],
    HOME: home,
    SVC_API: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    SVC_TOKEN: 'svcs_bench',
    SVC_PROJECT: 'shop',
  };
  const start = async (args: string[]): Promise<number> => {
    const startedAt = performance.now();
    const child = spawn(process.execPath, args, { env, stdio: ['ignore', 'ignore', 'pipe'] });
    const stderr = text(child.stderr);
    const [code] = (await once(child, 'close')) as [number];
    if (code !== 0) throw new Error(await stderr);
    return performance.now() - startedAt;
  };
  try {
    const clone = join(root, 'cli/svc.js');
    const installed = await installPackage(join(home, 'node_modules'));
    const help = ['app', 'list', '--help'];
    const list = ['app', 'list'];
    const commands: Readonly<Record<string, string[]>> = {
      '': [clone, ...list],
      '.help': [clone, ...help],
      '.package': [installed, ...list],
      '.package.help': [installed, ...help],
      '.node': ['--eval', '0'],
    };
    const times = new Map(Object.keys(commands).map((name) => [name, [] as number[]]));
    for (const args of Object.values(commands)) await start(args);
    for (let round = 0; round < rounds; round++) {
      for (const [name, args] of Object.entries(commands)) times.get(name)?.push(await start(args));
    }
    const target = { operator: '<=', value: 150 } as const;
    for (const [name, values] of times) {
      const figure = { name: `first-day.command-start${name}`, unit: 'ms' };
      printFigure({ ...figure, value: median(values), ...(name !== '.node' && { target }) });
      printFigure({ ...figure, name: `${figure.name}.fastest`, value: Math.min(...values) });
    }
  } finally {
    server.close();
    rmSync(home, { recursive: true, force: true });
  }
}

/** The package with its dependencies, as npm installs them. @returns its launcher */
async function installPackage(folder: string): Promise<string> {
  const installed = join(folder, 'svc');
  mkdirSync(installed, { recursive: true });
  await writePackageFolder(installed);
  const { dependencies } = JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8')) as {
    dependencies: Readonly<Record<string, string>>;
  };
  for (const name of Object.keys(dependencies)) {
    const link = join(folder, name);
    // A name with a scope is below the folder of its scope.
    mkdirSync(dirname(link), { recursive: true });
    symlinkSync(join(root, 'node_modules', name), link);
  }
  return join(installed, 'cli/svc.js');
}
