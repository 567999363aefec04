import { readFileSync } from 'node:fs';
import { command } from '../command.ts';
import { usageFailure } from '../failure.ts';

/** The scripts. Each calls `svc __complete` with the words up to the cursor. */
const files: Readonly<Record<string, string>> = {
  bash: 'svc.bash',
  zsh: 'svc.zsh',
  fish: 'svc.fish',
  powershell: 'svc.ps1',
};

export const completionCommand = command({
  name: 'completion',
  args: ['shell'],
  description: 'Print the completion script for bash, zsh, fish or powershell.',
  flags: {},
  examples: [
    'svc completion bash > ~/.local/share/bash-completion/completions/svc',
    'svc completion zsh > ~/.zsh/completions/_svc   # in a folder of $fpath',
    'svc completion fish > ~/.config/fish/completions/svc.fish',
    'svc completion powershell >> $PROFILE',
  ],
  async run({ context, args }) {
    const file = files[args.shell];
    if (file === undefined) {
      const shells = Object.keys(files).join(', ');
      throw usageFailure(`There is no completion for "${args.shell}".`, `the shells are ${shells}`);
    }
    context.stdout.write(readFileSync(new URL(`../completions/${file}`, import.meta.url)));
  },
});
