import { spawn, spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { eventually, runningPlatform, uniqueName } from '../../support/platform.ts';
import { freePort } from '../../support/servers.ts';
import { printFigure } from '../figure.ts';
import { useOwnRegistry } from './own-registry.ts';

/** Ten packages that many apps use, without parts to compile. */
const dependencies = {
  cookie: '1.0.2',
  dayjs: '1.11.13',
  deepmerge: '4.3.1',
  express: '5.1.0',
  lodash: '4.17.21',
  ms: '2.1.3',
  nanoid: '5.1.5',
  pino: '9.7.0',
  uuid: '11.1.0',
  zod: '3.25.67',
};

const server = (word: string) => `const express = require('express');
express().get('/', (_, response) => response.send('${word}')).listen(process.env.PORT);
`;

/**
 * From a folder to its URL, in ms until the app answers: the first time and after a change, beside `npm ci` and a start by
 * hand. Needs a running platform (`npm start`), whose builds then use the npm registry of this machine.
 */
export async function run(): Promise<void> {
  const platform = await runningPlatform();
  const project = uniqueName('bench');
  const temporary = mkdtempSync(join(tmpdir(), 'svc-folder-'));
  const folder = join(temporary, 'web');
  mkdirSync(folder);
  const write = (word: string) => writeFileSync(join(folder, 'server.js'), server(word));
  const manifest = { name: 'web', version: '1.0.0', scripts: { start: 'node server.js' }, dependencies };
  writeFileSync(join(folder, 'package.json'), JSON.stringify(manifest));
  npm(folder, ['install', '--package-lock-only']);
  const restore = await useOwnRegistry(platform, temporary);
  try {
    await platform.ok(['project', 'create', project, '--environment', 'prod']);
    const deploy = async (word: string): Promise<number> => {
      write(word);
      const startedAt = performance.now();
      const { url } = await platform.json<{ url: string }>(['deploy', folder, '--project', project, '--name', 'web']);
      await eventually(
        () => platform.request(url),
        ({ body }) => body === word,
      );
      return performance.now() - startedAt;
    };
    printFigure({ name: 'first-day.folder.first', value: await deploy('one'), unit: 'ms' });
    printFigure({ name: 'first-day.folder.second', value: await deploy('two'), unit: 'ms' });
    printFigure({ name: 'first-day.folder.by-hand', value: await byHand(folder), unit: 'ms' });
  } finally {
    rmSync(temporary, { recursive: true, force: true });
    await restore();
    await platform.ok(['project', 'delete', project, '--yes']);
  }
}

/** What a developer does without a platform. */
async function byHand(folder: string): Promise<number> {
  const copy = mkdtempSync(join(tmpdir(), 'svc-by-hand-'));
  const port = await freePort();
  try {
    cpSync(folder, copy, { recursive: true });
    const startedAt = performance.now();
    npm(copy, ['ci']);
    const program = spawn('npm', ['start'], {
      cwd: copy,
      env: { ...process.env, PORT: String(port) },
      stdio: 'ignore',
      detached: true,
    });
    try {
      await eventually(
        () => fetch(`http://127.0.0.1:${port}/`).catch(() => undefined),
        (response) => response?.ok === true,
      );
      return performance.now() - startedAt;
    } finally {
      // npm starts the program as a child, which its own end would leave running.
      if (program.pid !== undefined) process.kill(-program.pid);
    }
  } finally {
    rmSync(copy, { recursive: true, force: true });
  }
}

function npm(folder: string, args: readonly string[]): void {
  const { status, stderr } = spawnSync('npm', [...args, '--no-audit', '--no-fund'], { cwd: folder, encoding: 'utf8' });
  if (status !== 0) throw new Error(stderr);
}
