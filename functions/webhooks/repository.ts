import { Problem } from '../../runtime/domain/problem.ts';

/** The parts of an image reference. */
export interface ImageParts {
  repository: string;
  tag?: string;
}

/** Splits `registry:5000/shop/api:v1@sha256:…`; the digest is dropped. */
export function splitImage(image: string): ImageParts {
  const [name = ''] = image.split('@', 1);
  const colon = name.indexOf(':', name.lastIndexOf('/') + 1);
  return colon < 0 ? { repository: name } : { repository: name.slice(0, colon), tag: name.slice(colon + 1) };
}

/**
 * A repository in canonical form, for comparison: lower-case, with its registry (default `docker.io`), and with `library/`
 * for official images of Docker Hub.
 */
export function canonicalRepository(repository: string): string {
  const lower = repository.toLowerCase();
  const [first = '', ...rest] = lower.split('/');
  const hasRegistry = rest.length > 0 && (/[.:]/.test(first) || first === 'localhost');
  const registry = !hasRegistry || first === 'index.docker.io' ? 'docker.io' : first;
  const path = hasRegistry ? rest : [first, ...rest];
  return [registry, ...(registry === 'docker.io' && path.length === 1 ? ['library'] : []), ...path].join('/');
}

export const notAnImage = 'The package is not a container image.';

/**
 * Whether a media type is one of an image, an image index or an image's configuration; other artifacts, such as Helm
 * charts, are stored in the same registries. True when the registry names none.
 * https://github.com/opencontainers/image-spec/blob/main/media-types.md
 */
export function isImage(mediaType: string | null | undefined): boolean {
  return !mediaType || /^application\/vnd\.(oci\.image|docker\.(distribution|container))\./.test(mediaType);
}

/**
 * Whether a tag belongs to something that is attached to an image: a signature, an attestation or a bill of materials.
 * https://github.com/opencontainers/distribution-spec (Referrers Tag Schema)
 */
export function isAttachment(tag: string): boolean {
  return /^sha256-[0-9a-f]{64}(\.|$)/.test(tag);
}

/** Checks that each pattern can match a tag. @throws Problem `invalid_value` */
export function checkTagPatterns(patterns: string): string {
  for (const pattern of patterns.split(',').map((text) => text.trim())) {
    if (/^[\w*][\w.*-]{0,127}$/.test(pattern)) continue;
    throw new Problem(
      'invalid_value',
      `"${pattern}" is not a valid tag pattern. Use tags separated by commas, in which * matches any text, such as v*,release-*.`,
      { details: { field: 'tags' } },
    );
  }
  return patterns;
}

/** Whether a tag matches one of the comma-separated patterns; `*` matches any text. */
export function tagMatches(tag: string, patterns: string): boolean {
  return patterns.split(',').some((pattern) => matches(tag, pattern.trim()));
}

/** Linear in the length of the tag. */
function matches(tag: string, pattern: string): boolean {
  const parts = pattern.split('*');
  const [first = ''] = parts;
  if (parts.length === 1) return tag === pattern;
  const last = parts.at(-1) ?? '';
  if (!tag.startsWith(first) || !tag.endsWith(last) || tag.length < first.length + last.length) return false;
  let index = first.length;
  for (const part of parts.slice(1, -1)) {
    const start = tag.indexOf(part, index);
    if (start < 0) return false;
    index = start + part.length;
  }
  return index <= tag.length - last.length;
}
