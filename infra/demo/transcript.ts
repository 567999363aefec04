import { spawn } from 'node:child_process';
import { request as httpRequest } from 'node:http';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import type { RunInfo } from './bring-up.ts';

const root = join(import.meta.dirname, '../..');

/** A request of the demo, as curl would send it. */
export interface DemoRequest {
  method?: string;
  headers?: Record<string, string>;
  body?: string;
}

/** Runs the demo's commands, prints each with its output, and keeps all of it as Markdown. */
export interface Transcript {
  heading(title: string, prose: string): void;
  /** `svc …`; the answer is what it printed on stdout. @throws Error when it fails */
  svc(args: string[], options?: { input?: string; show?: string }): Promise<string>;
  /** As {@link svc}, shown nowhere. */
  quiet(args: string[]): Promise<string>;
  /**
   * A request through the ingress, shown as the curl command that does the same. Where the ingress does not know the host
   * yet (404), it is asked again, unseen.
   */
  curl(url: string, request?: DemoRequest): Promise<{ status: number; body: string }>;
  /** Asks, unseen, until the status is as wanted: what was just applied spreads within moments. */
  until(url: string, status: number, request?: DemoRequest): Promise<void>;
  /** Everything so far, with secrets masked. */
  markdown(): string;
}

/** @param options.print takes every piece of text as it comes */
export function createTranscript(options: { info: RunInfo; home: string; print: (text: string) => void }): Transcript {
  const { info, home } = options;
  let markdown = '';
  const emit = (shown: string) => {
    markdown += shown;
    options.print(shown);
  };
  const block = (command: string, output: string) =>
    emit(`\n\`\`\`console\n$ ${command}\n${output.trimEnd()}${output.trim() ? '\n' : ''}\`\`\`\n`);
  return {
    heading: (title, prose) => emit(`\n## ${title}\n\n${prose}\n`),
    svc: async (args, { input, show } = {}) => {
      const ended = await runSvc(args, { home, api: info.api, input });
      block(show ?? `svc ${args.map(quoted).join(' ')}`, ended.stderr + ended.stdout);
      if (ended.code !== 0) throw new Error(`svc ${args.join(' ')} ended with code ${ended.code}`);
      return ended.stdout.trim();
    },
    quiet: async (args) => (await runSvc(args, { home, api: info.api, input: undefined })).stdout,
    curl: async (url, request = {}) => {
      let answer = await send(info.ingress, url, request);
      while (answer.status === 404) answer = await pause().then(() => send(info.ingress, url, request));
      const flags = [
        ...(request.method ? [`-X ${request.method}`] : []),
        ...Object.entries(request.headers ?? {}).map(([name, value]) => `-H '${name}: ${value}'`),
        ...(request.body === undefined ? [] : [`-d '${request.body}'`]),
      ];
      block(['curl -i', ...flags, url].join(' '), `HTTP/1.1 ${answer.status}\n${answer.head}\n${answer.body}`);
      return answer;
    },
    until: async (url, status, request = {}) => {
      while ((await send(info.ingress, url, request)).status !== status) {
        await pause();
      }
    },
    markdown: () => masked(markdown),
  };
}

function pause(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 100));
}

/** A document shows that there is a secret, not which. */
function masked(shown: string): string {
  return shown.replaceAll(/(svc_[a-z0-9]{8}_)[a-z0-9]{46}/g, '$1…').replaceAll(/(svcwh_)[a-z0-9]{40}/g, '$1…');
}

function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word}'`;
}

async function runSvc(
  args: string[],
  options: { home: string; api: string; input: string | undefined },
): Promise<{ code: number | null; stdout: string; stderr: string }> {
  const child = spawn(process.execPath, [join(root, 'cli/main.ts'), ...args], {
    env: { ...process.env, XDG_CONFIG_HOME: options.home, SVC_API: options.api, NO_COLOR: '1' },
  });
  child.stdin.end(options.input);
  const output = Promise.all([text(child.stdout), text(child.stderr)]);
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', resolve);
  });
  const [stdout, stderr] = await output;
  return { code, stdout, stderr };
}

/** The headers that the walkthrough is about; the others would only make it longer. */
const shownHeaders = /^(content-type|retry-after|access-control-allow-origin|x-svc-cold-start|location)$/;

function send(
  ingress: string,
  url: string,
  request: DemoRequest,
): Promise<{ status: number; head: string; body: string }> {
  const target = new URL(url);
  const address = new URL(ingress);
  return new Promise((resolve, reject) => {
    const sent = httpRequest({
      host: address.hostname,
      port: address.port,
      path: target.pathname + target.search,
      method: request.method ?? 'GET',
      headers: { host: target.host, ...request.headers },
      agent: false,
    });
    sent.once('error', reject);
    sent.once('response', (response) => {
      const head = Object.entries(response.headers)
        .filter(([name]) => shownHeaders.test(name))
        .map(([name, value]) => `${name}: ${String(value)}\n`)
        .join('');
      text(response).then((body) => resolve({ status: response.statusCode ?? 0, head, body }), reject);
    });
    sent.end(request.body);
  });
}
