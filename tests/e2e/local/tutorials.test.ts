import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import { run, type Ended } from '../../../infra/demo/program.ts';
import { runningPlatform, uniqueName } from '../../support/platform.ts';

/**
 * Runs the tutorials as a reader does: every `sh` block of a page in one shell, in an empty folder. Each line of the `text`
 * block that follows must be in the block's output.
 */
const root = join(import.meta.dirname, '../../..');
const pages = readdirSync(join(root, 'docs/tutorials')).filter((name) => name.endsWith('.md'));
const { info } = await runningPlatform();

interface Step {
  commands: string;
  expected: string[];
}

const marker = (step: number) => `@@ output of step ${step}`;

/**
 * The steps of a page, with the page's address and password file replaced by those of the platform under test. Its
 * functions get names of their own, because only the first of a name gets the short host, and other tests run beside this one.
 */
function readSteps(page: string): Step[] {
  const written = readFileSync(join(root, 'docs/tutorials', page), 'utf8')
    .replaceAll('http://console.apps.localhost:8080', info.api)
    .replaceAll('apps.localhost:8080', `${info.appsDomain}:${new URL(info.api).port}`)
    .replaceAll('~/.local/share/svc/admin-password', info.adminPasswordFile);
  const names = [...written.matchAll(/^svc function create (\S+)/gm)].map(([, name = '']) => name);
  const text = names.reduce(
    (page, name) => page.replaceAll(new RegExp(`\\b${name}\\b`, 'g'), uniqueName(name)),
    written,
  );
  const steps: Step[] = [];
  for (const [, language, content = ''] of text.matchAll(/^```(sh|text)\n([\s\S]*?)^```$/gm)) {
    if (language === 'sh') steps.push({ commands: content, expected: [] });
    else steps.at(-1)?.expected.push(...content.split('\n').filter(Boolean));
  }
  return steps;
}

/** A folder with the command `svc`, and nothing else. */
function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'svc-tutorial-'));
  mkdirSync(join(folder, 'bin'));
  const svc = join(folder, 'bin/svc');
  writeFileSync(svc, `#!/bin/sh\nexec '${process.execPath}' '${join(root, 'cli/svc.js')}' "$@"\n`);
  chmodSync(svc, 0o755);
  return folder;
}

async function follow(steps: readonly Step[]): Promise<Ended> {
  const folder = newFolder();
  try {
    const env = {
      PATH: `${join(folder, 'bin')}:${process.env['PATH'] ?? ''}`,
      XDG_CONFIG_HOME: join(folder, 'config'),
      NO_COLOR: '1',
    };
    const script = steps.map(({ commands }, index) => `echo '${marker(index)}'\n${commands}\necho`).join('\n');
    return await run('bash', ['-c', `set -euo pipefail\ncd '${folder}'\n${script}`], { env });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const runs = pages.map((page) => {
  const steps = readSteps(page);
  return { page, steps, ended: follow(steps) };
});

for (const { page, steps, ended } of runs) {
  t.test(`docs/tutorials/${page}`, async (t) => {
    const { code, stdout, stderr } = await ended;
    t.equal(code, 0, 'every command succeeds', { stdout, stderr });
    for (const [index, { expected }] of steps.entries()) {
      const output = stdout.split(marker(index))[1]?.split('@@ output of step')[0] ?? '';
      for (const line of expected) t.ok(output.includes(line), `step ${index + 1} prints: ${line}`, { output });
    }
  });
}
