import { readFile } from 'node:fs/promises';

/** The hosts file of the node: addresses by `<service>.<namespace>`; none while it is not there. */
export async function readHosts(file: string): Promise<ReadonlyMap<string, string>> {
  const text = await readFile(file, 'utf8').catch(() => '');
  return new Map(
    text.split('\n').flatMap((line) => {
      const [address, name] = line.split(' ');
      return address === undefined || name === undefined ? [] : [[name, address]];
    }),
  );
}

/** A value that is a host, a host and its port, or a URL: what comes before the host, and its `<service>.<namespace>`. */
const hostOfService =
  /^((?:[a-z][a-z0-9+.-]*:\/\/(?:[^\s/?#@]*@)?)?)([a-z0-9-]+\.[a-z0-9-]+)\.svc(?:\.cluster\.local)?\.?(?=[:/?#]|$)/i;

/**
 * A variable's value with the address in place of a Service's full name (decision 0009): `orders.shop-prod.svc` alone, with
 * a port, or as the host of a URL. A name that is not known stays. Pure.
 */
export function translateName(value: string, hosts: ReadonlyMap<string, string>): string {
  return value.replace(hostOfService, (found, before: string, service: string) => {
    const address = hosts.get(service.toLowerCase());
    return address === undefined ? found : `${before}${address}`;
  });
}
