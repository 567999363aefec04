import type { PromotionCreated } from '../../../../runtime/contracts/api/apps.ts';
import { commandOf, placeFlags } from '../api/command.ts';
import type { Place } from '../api/queries.ts';
import { promotionText } from '../text/promotion.ts';

interface Promotion {
  app: string;
  from: string;
  to: string;
  /** Whether the app has to be created there. */
  create: boolean;
  /** Names of the secrets of a new app that have a value. */
  secrets: readonly string[];
}

/** The words of the command that promotes; `svc` asks for the value of each secret that it names. */
export function promotionWords({ app, from, to, create, secrets }: Promotion): string[] {
  const direction = Object.entries({ from, to }).flatMap(([flag, name]) => [`--${flag}`, name]);
  const words = ['app', 'promote', app, ...direction];
  return create ? [...words, '--create', ...secrets.flatMap((name) => ['--secret', name])] : words;
}

/** What a new app lacks, with the commands to set it up, as `svc app promote` tells it. */
export function setUpOf(target: Place, { app, notCopied }: PromotionCreated): { what: string; command?: string }[] {
  const flags = placeFlags(target);
  const { missing } = promotionText;
  // The flag replaces all mounts.
  const mounts = [...app.volumes, ...notCopied.volumes].flatMap(({ name, path }) => ['--volume', `${name}:${path}`]);
  return [
    ...notCopied.secrets.map((secret) => ({
      what: missing.secret(secret),
      command: commandOf('app', 'secret', 'set', app.name, secret, '--restart', ...flags),
    })),
    ...notCopied.hosts.map((host) => ({
      what: missing.host(host),
      command: commandOf('app', 'host', 'add', app.name, 'www.example.com', ...flags),
    })),
    ...notCopied.volumes.map(({ name }) => ({
      what: missing.volume(name),
      command: commandOf('volume', 'create', name, '--size', '10Gi', ...flags),
    })),
    ...(notCopied.volumes.length === 0
      ? []
      : [{ what: missing.mounts, command: commandOf('app', 'update', app.name, ...mounts, ...flags) }]),
    ...(notCopied.git === undefined ? [] : [{ what: missing.git }]),
    ...(app.gate === 'off'
      ? []
      : [{ what: missing.keys, command: commandOf('key', 'create', '--plan', 'small', ...flags) }]),
  ];
}
