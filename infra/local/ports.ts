import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { isPortFree } from './free-port.ts';

/** The ports of the embedded cluster on 127.0.0.1. */
export interface Ports {
  apiServer: number;
  ingress: number;
  /** Receives images from builds. */
  images: number;
  /** Answers console-api's questions about metrics. */
  metrics: number;
  /** Answers what pods printed. */
  logs: number;
}

const defaultPorts: Ports = { apiServer: 16_443, ingress: 8080, images: 15_000, metrics: 15_100, logs: 15_200 };
/** How many ports to try, from the preferred one up. */
const attempts = 100;

/**
 * Chooses a free port for each part: the requested port, the port of the last start, or the default port or the next
 * free one.
 * @param file stores the ports for the next start
 * @param log is called when a port changes because it is in use
 * @throws Error when the requested ingress port is in use
 */
export async function choosePorts(
  file: string,
  requested: { ingress?: number },
  log: (line: string) => void,
): Promise<Ports> {
  const last = existsSync(file) ? readPorts(file) : undefined;
  if (requested.ingress !== undefined && !(await isPortFree(requested.ingress))) {
    throw new Error(`Port ${requested.ingress} is in use. Choose another one with --port.`);
  }
  const choose = async (part: keyof Ports): Promise<number> => {
    const first = last?.[part] ?? defaultPorts[part];
    for (let port = first; port < first + attempts; port++) {
      if (!(await isPortFree(port))) continue;
      if (port !== first) log(`port ${first} is in use; using ${port} instead`);
      return port;
    }
    throw new Error(`All ports from ${first} to ${first + attempts - 1} are in use.`);
  };
  const ports = {
    apiServer: await choose('apiServer'),
    ingress: requested.ingress ?? (await choose('ingress')),
    images: await choose('images'),
    metrics: await choose('metrics'),
    logs: await choose('logs'),
  };
  writeFileSync(file, JSON.stringify(ports));
  return ports;
}

/** The ports of the last start. @throws Error when there was none */
export function readPorts(file: string): Ports {
  // Files of earlier versions may have fewer ports.
  return { ...defaultPorts, ...(JSON.parse(readFileSync(file, 'utf8')) as Partial<Ports>) };
}
