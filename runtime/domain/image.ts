import { Problem } from './problem.ts';

const reference =
  /^(?:[a-z0-9]+(?:[._-][a-z0-9]+)*(?::[0-9]+)?\/)?[a-z0-9]+(?:(?:\.|_{1,2}|-+)[a-z0-9]+)*(?:\/[a-z0-9]+(?:(?:\.|_{1,2}|-+)[a-z0-9]+)*)*(?::[A-Za-z0-9_][A-Za-z0-9._-]{0,127})?(?:@sha256:[a-f0-9]{64})?$/;

/**
 * Checks a container image reference (the OCI distribution grammar). A tag or digest is required, because the image of a
 * reference without one changes. @throws Problem `invalid_value`
 */
export function checkImage(image: string, field = 'image'): string {
  if (image.length > 512 || !reference.test(image) || !/[:@]/.test(image.slice(image.lastIndexOf('/') + 1))) {
    throw new Problem(
      'invalid_value',
      `"${image.slice(0, 100)}" is not a full image reference; include registry, name and tag, such as registry.example.com/shop/api:1.4.2.`,
      { details: { field } },
    );
  }
  return image;
}

/** The digest (`sha256:…`) at the end of an image reference or of a container's image id. Pure. */
export function imageDigest(reference: string): string | undefined {
  return /@(sha256:[a-f0-9]{64})$/.exec(reference)?.[1];
}
