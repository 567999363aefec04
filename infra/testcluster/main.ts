import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { down, paths, status, up } from './cluster.ts';
import type { ClusterStatus } from './health.ts';
import { ClusterProblem } from './problem.ts';
import { lineProgress } from './progress.ts';
import { defaultIngressPorts } from './settings.ts';

const help = `A real Kubernetes on this machine, for tests: one node or two, with DNS, Traefik, a registry and volumes.

Usage: npm run testcluster -- <command> [options]

Commands:
  up           start it and wait until it serves (the first start builds it for about 10 minutes)
  down         stop it and remove everything that it added to the machine
  status       show each component's status; exit code 0 when all are healthy, 1 otherwise
  kubeconfig   print the path of the administrator's kubeconfig

Options:
  --ingress-port PORT      up: port on 127.0.0.1 for HTTP (${defaultIngressPorts.web})
  --ingress-tls-port PORT  up: port on 127.0.0.1 for HTTPS (${defaultIngressPorts.websecure})
  --ingress-admin-port PORT  up: port on 127.0.0.1 for Traefik's own checks (${defaultIngressPorts.admin})
  --nodes 1|2              up: number of nodes; a running cluster gets or loses its second (1)
  -o, --output json        up, status: print JSON
  --raw                    kubeconfig: print the content
  -h, --help               print this

It needs Linux, root, and Go for the first start. SVC_TESTCLUSTER_HOME sets its folder (~/.cache/svc/testcluster).
Exit codes: 0 success, 1 failed or not up, 2 wrong usage or a machine that cannot run it.
`;

const options = {
  'ingress-port': { type: 'string' },
  'ingress-tls-port': { type: 'string' },
  'ingress-admin-port': { type: 'string' },
  nodes: { type: 'string' },
  output: { type: 'string', short: 'o', default: 'text' },
  raw: { type: 'boolean', default: false },
  help: { type: 'boolean', short: 'h', default: false },
} as const;

const progress = lineProgress((line) => process.stderr.write(`${line}\n`));

async function main(parameters: string[]): Promise<number> {
  const { values, positionals } = parseCommandLine(parameters);
  if (values.help) return print(help);
  const [command = ''] = positionals;
  switch (command) {
    case 'up': {
      const ingress = {
        ...port('web', values['ingress-port']),
        ...port('websecure', values['ingress-tls-port']),
        ...port('admin', values['ingress-admin-port']),
      };
      const nodes = values.nodes === undefined ? {} : { nodes: values.nodes === '2' ? (2 as const) : (1 as const) };
      return report(await up({ progress, ingress, ...nodes }), values.output);
    }
    case 'down':
      progress.note((await down({ progress })) ? 'the test cluster is down' : 'no test cluster was running');
      return 0;
    case 'status':
      return report(await status(), values.output);
    case 'kubeconfig':
      return values.raw ? print(readKubeconfig()) : print(`${paths().kubeconfig}\n`);
    default:
      throw new ClusterProblem(
        command === '' ? `a command is required\n\n${help}` : `unknown command: ${command}\n\n${help}`,
        2,
      );
  }
}

function parseCommandLine(parameters: string[]) {
  try {
    const parsed = parseArgs({ args: parameters, options, allowPositionals: true, strict: true });
    if (parsed.positionals.length > 1) throw new Error(`expected one command, got: ${parsed.positionals.join(' ')}`);
    if (!['1', '2', undefined].includes(parsed.values.nodes)) throw new Error('--nodes must be 1 or 2');
    if (!['text', 'json'].includes(parsed.values.output)) throw new Error('--output must be text or json');
    return parsed;
  } catch (error) {
    throw new ClusterProblem(error instanceof Error ? error.message : String(error), 2);
  }
}

function port(name: 'web' | 'websecure' | 'admin', text: string | undefined): Partial<Record<typeof name, number>> {
  if (text === undefined) return {};
  const number = Number(text);
  if (Number.isInteger(number) && number > 0 && number < 65_536) return { [name]: number };
  throw new ClusterProblem(`"${text}" is not a valid port`, 2);
}

function readKubeconfig(): string {
  try {
    return readFileSync(paths().kubeconfig, 'utf8');
  } catch {
    throw new ClusterProblem('the test cluster is not running. Start it with: npm run testcluster -- up');
  }
}

function report(result: ClusterStatus, output: string): number {
  const exitCode = result.state === 'up' ? 0 : 1;
  if (output === 'json') {
    print(`${JSON.stringify({ ...result, ...paths() }, null, 2)}\n`);
    return exitCode;
  }
  const width = Math.max(...result.components.map(({ name }) => name.length));
  for (const { name, state, detail } of result.components)
    print(`${name.padEnd(width)}  ${state.padEnd(7)}  ${detail}\n`);
  print(`the test cluster is ${result.state}\n`);
  if (result.state !== 'down') {
    const { kubeconfig, binDir, ingressPort, ingressTlsPort, registry, logs } = paths();
    print(`kubeconfig ${kubeconfig}\nkubectl    ${binDir}/kubectl\nlogs       ${logs}\n`);
    print(`ingress    http://127.0.0.1:${ingressPort} https://127.0.0.1:${ingressTlsPort}\nregistry   ${registry}\n`);
  }
  return exitCode;
}

function print(text: string): 0 {
  process.stdout.write(text);
  return 0;
}

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  if (!(error instanceof ClusterProblem)) throw error;
  process.stderr.write(`testcluster: ${error.message}\n`);
  process.exitCode = error.exitCode;
}
