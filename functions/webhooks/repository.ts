import { Problem } from '../../runtime/domain/problem.ts';

/** An image reference in its parts; what is missing is absent. */
export interface ImageParts {
  repository: string;
  tag?: string;
}

/** Splits `registry:5000/shop/api:v1@sha256:…`; the digest is left out. */
export function splitImage(image: string): ImageParts {
  const [name = ''] = image.split('@', 1);
  const colon = name.indexOf(':', name.lastIndexOf('/') + 1);
  return colon < 0 ? { repository: name } : { repository: name.slice(0, colon), tag: name.slice(colon + 1) };
}

/**
 * A repository in the one spelling by which two can be compared: with its registry, `docker.io` when it names none, and
 * `library/` for what Docker Hub itself publishes. Registries that keep capitals take none in names of images.
 */
export function canonicalRepository(repository: string): string {
  const lower = repository.toLowerCase();
  const [first = '', ...rest] = lower.split('/');
  const hasRegistry = rest.length > 0 && (/[.:]/.test(first) || first === 'localhost');
  const registry = !hasRegistry || first === 'index.docker.io' ? 'docker.io' : first;
  const path = hasRegistry ? rest : [first, ...rest];
  return [registry, ...(registry === 'docker.io' && path.length === 1 ? ['library'] : []), ...path].join('/');
}

/** Checks that each pattern can fit a tag at all. @throws Problem `invalid_value` */
export function checkTagPatterns(patterns: string): string {
  for (const pattern of patterns.split(',').map((each) => each.trim())) {
    if (/^[\w*][\w.*-]{0,127}$/.test(pattern)) continue;
    throw new Problem(
      'invalid_value',
      `"${pattern}" is no pattern of tags; give tags in which * stands for any text, separated by commas, such as v*,release-*.`,
      { details: { field: 'tags' } },
    );
  }
  return patterns;
}

/** Whether a tag fits one of the patterns, which are separated by commas; `*` stands for any text. */
export function tagFits(tag: string, patterns: string): boolean {
  return patterns.split(',').some((pattern) => fits(tag, pattern.trim()));
}

/** In one pass, whatever the pattern. */
function fits(tag: string, pattern: string): boolean {
  const parts = pattern.split('*');
  const [first = ''] = parts;
  if (parts.length === 1) return tag === pattern;
  const last = parts.at(-1) ?? '';
  if (!tag.startsWith(first) || !tag.endsWith(last) || tag.length < first.length + last.length) return false;
  let at = first.length;
  for (const part of parts.slice(1, -1)) {
    const found = tag.indexOf(part, at);
    if (found < 0) return false;
    at = found + part.length;
  }
  return at <= tag.length - last.length;
}
