/**
 * The syntax for schemas with the same meaning in RE2, which Kubernetes uses, and in JavaScript: of `(?…` only `(?:`, only
 * these escapes, no POSIX or empty classes, and no count over 999.
 * https://github.com/google/re2/wiki/Syntax
 */
const portable =
  /^(?:[^\\([{]|\\[dDwWbBnrtfv^$.*+?()[\]{}|/-]|\((?:\?:|(?!\?))|\{\d{1,3}(?:,\d{0,3})?\}|\[(?!\^?\])(?:[^\\[\]]|\\[dDwWnrtfv^$.*+?()[\]{}|/-]|\[(?!:))+\])*$/u;

/** Whether a schema's pattern is valid and means the same to Kubernetes as to the embedded API server. */
export function isPortablePattern(pattern: string): boolean {
  try {
    void new RegExp(pattern, 'u');
    return portable.test(pattern);
  } catch {
    return false;
  }
}
