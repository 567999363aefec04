import { isIP } from 'node:net';

/** The TLS server name for a connection to the IP address of a host; none for an IP address. Pure. */
export function tlsName(host: string): { servername?: string } {
  return isIP(host) === 0 ? { servername: host } : {};
}
