/** runc's reason, which containerd and the kubelet wrap in several sentences of their own. */
const reason = /unable to start container process: (?:.*?: )?exec: ("[^"]*"): (?:stat [^:]*: )?([^:]+)/s;

/**
 * Which program a container runtime could not start and why, such as
 * `Cannot start "migrate": executable file not found in $PATH`; undefined for any other message. Pure.
 */
export function startFault(message: string): string | undefined {
  const [, program, fault] = reason.exec(message) ?? [];
  return program === undefined || fault === undefined ? undefined : `Cannot start ${program}: ${fault.trim()}`;
}
