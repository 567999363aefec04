import { spawn, spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { BuildView } from '../../../runtime/contracts/api/git.ts';
import { eventually, runningPlatform, uniqueName, type Platform } from '../../support/platform.ts';
import { freePort } from '../../support/servers.ts';
import { median, printFigure } from '../figure.ts';
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

/** What the app answers after each change of its only own file. */
const changes = ['two', 'three', 'four'] as const;

/**
 * From a folder to its URL, in ms until the app answers: the first time and after a change, beside `npm ci` and a start by
 * hand; and the builds alone, of which the second one has an unchanged lock file. Needs a running platform (`npm start`), whose
 * builds then use the npm registry of this machine.
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
    const first = await deploy('one');
    const later: number[] = [];
    for (const word of changes) later.push(await deploy(word));
    printFigure({ name: 'first-day.folder.first', value: first, unit: 'ms' });
    printFigure({ name: 'first-day.folder.second', value: median(later), unit: 'ms' });
    printFigure({ name: 'first-day.folder.by-hand', value: await byHand(folder), unit: 'ms' });
    const [firstBuild = Number.NaN, ...laterBuilds] = await buildTimes(platform, project);
    printFigure({ name: 'first-day.folder.build.first', value: firstBuild, unit: 'ms' });
    printFigure({ name: 'first-day.folder.build.second', value: median(laterBuilds), unit: 'ms' });
    const target = { operator: '>=', value: 3 } as const;
    printFigure({
      name: 'first-day.folder.build.ratio',
      value: firstBuild / median(laterBuilds),
      unit: 'ratio',
      target,
    });
  } finally {
    rmSync(temporary, { recursive: true, force: true });
    await restore();
    await platform.ok(['project', 'delete', project, '--yes']);
  }
}

/** From the acceptance of each deployment to its image, in ms, the oldest first. */
async function buildTimes(platform: Platform, project: string): Promise<number[]> {
  const { token } = await platform.json<{ token: string }>([
    ...['token', 'create', 'bench', '--scope', 'read', '--expires', '1d'],
    ...['--project', project, '--environment', 'prod'],
  ]);
  const path = `/api/v1/projects/${project}/builds?environment=prod`;
  const headers = { authorization: `Bearer ${token}` };
  const answer = await platform.request(`${platform.info.api}${path}`, { headers });
  const { items } = answer.json() as { items?: BuildView[] };
  return (items ?? [])
    .map(({ acceptedAt, builtAt }) => Date.parse(builtAt ?? '') - Date.parse(acceptedAt))
    .toReversed();
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
