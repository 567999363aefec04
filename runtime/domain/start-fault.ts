/** What runc's reason begins with, which containerd and the kubelet wrap in several sentences of their own. */
const beginning = 'unable to start container process: ';
const reason = /exec: ("[^"]*"): (?:stat [^:]*: )?([^:]+)/;

/**
 * Which program a container runtime could not start and why, such as
 * `Cannot start "migrate": executable file not found in $PATH`; undefined for any other message. Pure.
 */
export function startFault(message: string): string | undefined {
  const at = message.indexOf(beginning);
  const [, program, fault] = (at < 0 ? undefined : reason.exec(message.slice(at))) ?? [];
  return program === undefined || fault === undefined ? undefined : `Cannot start ${program}: ${fault.trim()}`;
}
