import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { isPortFree } from './free-port.ts';

/** The ports of the embedded default, on 127.0.0.1. */
export interface Ports {
  apiServer: number;
  ingress: number;
  /** Where images that were built are handed in. */
  images: number;
}

const usual: Ports = { apiServer: 16_443, ingress: 8080, images: 15_000 };
/** How many numbers after the usual one are tried. */
const tries = 100;

/**
 * A free port for each part: the one asked for, the one of the last time, the usual one or the next after it.
 * @param file remembers them
 * @param log is told when an address changes because somebody else has the port
 * @throws Error when the ingress port that was asked for is in use
 */
export async function choosePorts(
  file: string,
  asked: { ingress?: number },
  log: (line: string) => void,
): Promise<Ports> {
  const last = existsSync(file) ? readPorts(file) : undefined;
  if (asked.ingress !== undefined && !(await isPortFree(asked.ingress))) {
    throw new Error(`port ${asked.ingress} is in use; choose another with --port`);
  }
  const choose = async (part: keyof Ports): Promise<number> => {
    const first = last?.[part] ?? usual[part];
    for (let port = first; port < first + tries; port++) {
      if (!(await isPortFree(port))) continue;
      if (port !== first) log(`port ${first} is in use: taking ${port}`);
      return port;
    }
    throw new Error(`no port from ${first} to ${first + tries - 1} is free`);
  };
  const ports = {
    apiServer: await choose('apiServer'),
    ingress: asked.ingress ?? (await choose('ingress')),
    images: await choose('images'),
  };
  writeFileSync(file, JSON.stringify(ports));
  return ports;
}

/** The ports of the last start. @throws Error when there was none */
export function readPorts(file: string): Ports {
  // An earlier version knew fewer.
  return { ...usual, ...(JSON.parse(readFileSync(file, 'utf8')) as Partial<Ports>) };
}
