import { Problem } from './problem.ts';

/** What the container runtime mounts itself: it refuses to start a pod that mounts a volume there. */
const runtimePaths = ['/proc', '/sys', '/dev'];

/**
 * Checks where a volume is mounted, and returns the path without a slash at its end. Pure.
 * @throws Problem `invalid_value`
 */
export function checkMountPath(path: string): string {
  const mountPath = path.replace(/(?<=[^/])\/$/, '');
  const segments = mountPath.split('/').slice(1);
  const isPath = mountPath.startsWith('/') && segments.every((segment) => !['', '.', '..'].includes(segment));
  // Kubernetes refuses a colon, which some container runtimes read as a separator.
  if (!isPath || /[:\p{Cc}]/u.test(mountPath)) {
    throw refusal(
      'volumes',
      `${JSON.stringify(path)} is not a valid mount path. Use an absolute path without empty parts, "." or "..", colons and control characters, such as /data.`,
    );
  }
  if (runtimePaths.some((reserved) => `${mountPath}/`.startsWith(`${reserved}/`))) {
    throw refusal(
      'volumes',
      `"${path}" belongs to the system of the container. Mount the volume elsewhere, such as at /data.`,
    );
  }
  return mountPath;
}

/** Checks the path of readiness checks. Pure. @throws Problem `invalid_value` */
export function checkHealthPath(path: string): void {
  if (/^\/(?!\/)[^\s\p{Cc}]*$/u.test(path)) return;
  throw refusal(
    'healthPath',
    `${JSON.stringify(path)} is not a valid health path. Use a path without spaces, line breaks and other control characters that starts with one slash, such as /healthz.`,
  );
}

function refusal(field: string, message: string): Problem {
  return new Problem('invalid_value', message, { details: { field } });
}
