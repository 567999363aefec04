import { readFile } from 'node:fs/promises';

/** Reads the node's hosts file: addresses by `<service>.<namespace>`. Empty when the file does not exist. */
export async function readHosts(file: string): Promise<ReadonlyMap<string, string>> {
  const text = await readFile(file, 'utf8').catch(() => '');
  return new Map(
    text.split('\n').flatMap((line) => {
      const [address, name] = line.split(' ');
      return address === undefined || name === undefined ? [] : [[name, address]];
    }),
  );
}

/** Matches a host, a host with a port, or a URL. Groups: the text before the host, and `<service>.<namespace>`. */
const hostOfService =
  /^((?:[a-z][a-z0-9+.-]*:\/\/(?:[^\s/?#@]*@)?)?)([a-z0-9-]+\.[a-z0-9-]+)\.svc(?:\.cluster\.local)?\.?(?=[:/?#]|$)/i;

/**
 * Replaces a Service's full name in a variable's value by its address (docs/decisions/0009-pods-as-processes.md):
 * `orders.shop-prod.svc` alone, with a port, or as the host of a URL. An unknown name stays. Pure.
 */
export function translateName(value: string, hosts: ReadonlyMap<string, string>): string {
  return value.replace(hostOfService, (match, before: string, service: string) => {
    const address = hosts.get(service.toLowerCase());
    return address === undefined ? match : `${before}${address}`;
  });
}
