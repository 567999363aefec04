import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { installWithApt, systemPath } from '../../infra/testcluster/requirements.ts';

/** Debian's packages of servers that only tests need, and the program of each. */
const packages = {
  'openssh-server': 'sshd',
  'mariadb-server': 'mariadbd',
  prometheus: 'prometheus',
  'prometheus-alertmanager': 'prometheus-alertmanager',
  'prometheus-node-exporter': 'prometheus-node-exporter',
  'chromium-headless-shell': 'chromium-headless-shell',
} as const;

export type TestPackage = keyof typeof packages;

/** Why tests that need a package are skipped, with the command that installs it; false when it is installed. */
export function missingProgram(name: TestPackage): string | false {
  if (isInstalled(packages[name])) return false;
  return `${packages[name]} is not installed: apt-get install ${name}`;
}

/** Installs the missing packages when it runs as root with apt-get. Otherwise the tests that need them are skipped. */
export async function installTestPrograms(): Promise<void> {
  const missing = (Object.keys(packages) as TestPackage[]).filter((name) => missingProgram(name) !== false);
  if (missing.length === 0 || process.getuid?.() !== 0 || !existsSync('/usr/bin/apt-get')) return;
  try {
    await installWithApt(missing);
  } catch (error) {
    // Tests of the web console run in the whole browser as well, more slowly.
    const others = missing.filter((name) => name !== 'chromium-headless-shell');
    if (others.length === missing.length || !isInstalled('chromium')) throw error;
    if (others.length > 0) await installWithApt(others);
  }
}

function isInstalled(program: string): boolean {
  return systemPath.some((folder) => existsSync(join(folder, program)));
}
