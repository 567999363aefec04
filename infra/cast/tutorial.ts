/** A part of a tutorial with its commands. */
export interface Lesson {
  title: string;
  commands: readonly string[];
}

/** The commands of the `sh` blocks of a tutorial, by section. */
export function lessonsOf(page: string): Lesson[] {
  return page
    .split(/^## /m)
    .slice(1)
    .map((section) => ({
      title: (section.split('\n', 1)[0] ?? '').replace(/^\d+\. /, ''),
      commands: [...section.matchAll(/^```sh\n([\s\S]*?)^```$/gm)].flatMap(([, block = '']) => commandsOf(block)),
    }))
    .filter(({ commands }) => commands.length > 0);
}

/** The commands of a block: one for each line, or for several lines that end with `END`. */
function commandsOf(block: string): string[] {
  const commands: string[] = [];
  let isOpen = false;
  for (const line of block.trimEnd().split('\n')) {
    if (isOpen) commands.push(`${commands.pop()}\n${line}`);
    else commands.push(line);
    isOpen = isOpen ? line !== 'END' : line.endsWith("<<'END'");
  }
  return commands;
}
