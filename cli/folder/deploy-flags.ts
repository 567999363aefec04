import { scopeFlags } from '../common-flags.ts';
import { amount, text, toggle, type FlagValues } from '../flags.ts';
import { newEnvironmentFlags } from '../new-environment.ts';
import { waitFlags } from '../wait.ts';

/** The flags of `svc deploy`. */
export const deployFlags = {
  name: text('<name>', 'name of the app (default: from svc.yaml, package.json or the folder)'),
  port: amount('<port>', 'port that the app listens on (default: from svc.yaml, else $PORT, 8080)', {
    min: 1,
    max: 65_535,
  }),
  dockerfile: text('<file>', 'Dockerfile, relative to the folder (default Dockerfile)'),
  ...newEnvironmentFlags,
  open: toggle('open the URL in the browser'),
  ...waitFlags,
  ...scopeFlags,
};

export type DeployFlags = FlagValues<typeof deployFlags>;
