import { Problem } from './problem.ts';

/** What a function in inline code may depend on at most. */
export const dependenciesMax = 50;

/** A package from a registry, at one version. */
export interface Dependency {
  name: string;
  version: string;
}

interface Grammar {
  registry: string;
  name: RegExp;
  version: RegExp;
  example: string;
  /** The one spelling of names that mean the same package. */
  canonical: (name: string) => string;
}

const grammars = {
  // https://docs.npmjs.com/cli/configuring-npm/package-json#name, old names with capitals included; https://semver.org
  node: {
    registry: 'npm',
    name: /^(?=.{1,214}$)(?:@[a-z0-9~][a-z0-9._~-]*\/)?[A-Za-z0-9~][A-Za-z0-9._~-]*$/,
    version:
      /^(?:0|[1-9]\d{0,8})\.(?:0|[1-9]\d{0,8})\.(?:0|[1-9]\d{0,8})(?:-[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*)?(?:\+[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*)?$/,
    example: 'lodash@4.17.21',
    canonical: (name: string) => name,
  },
  // https://packaging.python.org/en/latest/specifications/name-normalization/ with extras (PEP 508), and of PEP 440 what a
  // registry serves: no local versions.
  python: {
    registry: 'PyPI',
    name: /^[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?(?:\[[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?(?:,[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)*\])?$/,
    version: /^(?:\d{1,9}!)?\d{1,9}(?:\.\d{1,9})*(?:(?:a|b|rc)\d{1,9})?(?:\.post\d{1,9})?(?:\.dev\d{1,9})?$/,
    example: 'requests@2.32.3',
    canonical: (name: string) =>
      name
        .replace(/\[.*$/, '')
        .toLowerCase()
        .replaceAll(/[-_.]+/g, '-'),
  },
} as const satisfies Record<string, Grammar>;

/**
 * The packages that entries `name@version` name. A version is exact: what is installed must not depend on the day.
 * @throws Problem `invalid_dependency` for anything else, such as URLs, paths, ranges and options of the installer, and for
 * a package that is named twice
 */
export function parseDependencies(entries: readonly string[], runtime: keyof typeof grammars): Dependency[] {
  const { canonical } = grammars[runtime];
  const found = new Map<string, Dependency>();
  for (const entry of entries) {
    const dependency = parseDependency(entry, runtime);
    const key = canonical(dependency.name);
    if (found.has(key)) throw refusal(entry, `The dependency "${dependency.name}" is named twice; keep one version.`);
    found.set(key, dependency);
  }
  return [...found.values()];
}

function parseDependency(entry: string, runtime: keyof typeof grammars): Dependency {
  const { registry, name: names, version: versions, example } = grammars[runtime];
  // The first character of a scoped name is an @, too.
  const at = entry.indexOf('@', 1);
  const [name, version] = at < 0 ? [entry, ''] : [entry.slice(0, at), entry.slice(at + 1)];
  const shown = JSON.stringify(entry.slice(0, 100));
  if (entry.length > 250 || !names.test(name) || /^(?:node_modules|favicon\.ico)$/i.test(name)) {
    throw refusal(entry, `${shown} does not name a package of ${registry}; give name@version, such as ${example}.`);
  }
  if (!versions.test(version)) {
    throw refusal(entry, `${shown} needs an exact version, such as ${example}: no range, tag, address or path.`);
  }
  return { name, version };
}

function refusal(entry: string, message: string): Problem {
  return new Problem('invalid_dependency', message, {
    details: { field: 'dependencies', dependency: entry.slice(0, 250) },
  });
}
