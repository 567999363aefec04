import { Problem } from './problem.ts';

/** Maximum number of dependencies of a function. */
export const dependenciesMax = 50;

/** A package of a registry in one version. */
export interface Dependency {
  name: string;
  version: string;
}

interface Grammar {
  registry: string;
  name: RegExp;
  version: RegExp;
  example: string;
  /** The normalised name, the same for all spellings of a package's name. */
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
        .replace(/\[.*$/s, '')
        .toLowerCase()
        .replaceAll(/[-_.]+/g, '-'),
  },
} as const satisfies Record<string, Grammar>;

/**
 * Parses entries `name@version`. Versions must be exact, so that an installation always gets the same packages.
 * @throws Problem `invalid_dependency` for anything else, such as URLs, paths, ranges and installer options, and for a
 * duplicate package
 */
export function parseDependencies(entries: readonly string[], runtime: keyof typeof grammars): Dependency[] {
  const { canonical } = grammars[runtime];
  const dependencies = new Map<string, Dependency>();
  for (const entry of entries) {
    const dependency = parseDependency(entry, runtime);
    const key = canonical(dependency.name);
    if (dependencies.has(key))
      throw refusal(entry, `The dependency "${dependency.name}" is listed twice; keep one version.`);
    dependencies.set(key, dependency);
  }
  return [...dependencies.values()];
}

function parseDependency(entry: string, runtime: keyof typeof grammars): Dependency {
  const { registry, name: names, version: versions, example } = grammars[runtime];
  // The first character of a scoped name is an @, too.
  const [, name = entry, version = ''] = /^(.[^@]*)@(.*)$/s.exec(entry) ?? [];
  const quoted = JSON.stringify(entry.slice(0, 100));
  if (entry.length > 250 || !names.test(name) || /^(?:node_modules|favicon\.ico)$/i.test(name)) {
    throw refusal(entry, `${quoted} is not a package of ${registry}; use name@version, such as ${example}.`);
  }
  if (!versions.test(version)) {
    throw refusal(
      entry,
      `${quoted} needs an exact version, such as ${example}; ranges, tags, URLs and paths are not supported.`,
    );
  }
  return { name, version };
}

function refusal(entry: string, message: string): Problem {
  return new Problem('invalid_dependency', message, {
    details: { field: 'dependencies', dependency: entry.slice(0, 250) },
  });
}
