/** The arguments of a platform process: what follows its program in the command of its container. */
export function processArguments(command: readonly string[] = []): string[] {
  return command.slice(command.findIndex((part) => part.endsWith('.ts')) + 1);
}
