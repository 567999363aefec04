/**
 * How the step that fetches an uploaded folder gets it: for each file a line of JSON ({@link FileHeader}) and then its content;
 * at the end an empty line. This file imports nothing, because the builder's image has no other.
 */
export interface FileHeader {
  path: string;
  kind: 'file' | 'program' | 'link';
  /** Length of the content that follows, in bytes. */
  size: number;
  /** Where a link leads. */
  target?: string | undefined;
}

/** The longest line, in bytes: a path and a target of 1,000 bytes, in which JSON escapes quotes. */
export const headerMaxBytes = 8 * 1024;

/** The path of a deployment's files at console-api's port for pods. */
export function sourcePath(deploymentId: string): string {
  return `/sources/${deploymentId}`;
}
