import { codeMaxBytes, functionRuntimes } from '../../runtime/contracts/resources/function.ts';
import { usageFailure } from '../failure.ts';
import { choice, flagName, text, texts, unless, type FlagValues } from '../flags.ts';
import { readGivenFile, runtimeOf } from '../given-file.ts';
import { notBoth } from '../pod-settings.ts';

/** What a function is to run. */
export const sourceFlags = {
  codeFile: text('<file>', 'source file with the handler'),
  runtime: choice(functionRuntimes, 'runtime of the code (default of a new one: python for a file *.py, else node)'),
  dependency: texts('<name@version>', 'with code: package to install at start; those that are given are all'),
  image: text('<image>', 'in place of code: container image, which listens on --port'),
};

/** Of `update` alone. */
export const sourceRemovalFlags = { dependencies: unless('install no packages any more') };

/** What the flags say of it, as the API takes it. @throws Failure (usage) for an image with what only code has */
export function sourceOf(flags: FlagValues<typeof sourceFlags> & Partial<FlagValues<typeof sourceRemovalFlags>>) {
  const { codeFile, runtime, dependency, image, dependencies } = flags;
  notBoth('dependency', dependency.length > 0, dependencies === false);
  if (image !== undefined) {
    const [stray] = Object.entries({ codeFile, runtime, dependency: dependency[0] }).find(([, value]) => value) ?? [];
    if (stray !== undefined) throw usageFailure(`${flagName(stray)} goes with code, and not with --image.`);
    return { image };
  }
  return {
    ...(runtime !== undefined && { runtime }),
    ...(codeFile !== undefined && { code: readCode(codeFile) }),
    ...(dependency.length > 0 && { dependencies: dependency }),
    ...(dependencies === false && { dependencies: [] }),
  };
}

/** As {@link sourceOf}, of a new function. @throws Failure (usage) when neither code nor image is given, too */
export function newSourceOf(flags: FlagValues<typeof sourceFlags>) {
  const { codeFile, image } = flags;
  if (codeFile === undefined && image === undefined) {
    throw usageFailure('Give the source file with --code-file <file>, or a container image with --image <image>.');
  }
  return { ...(codeFile !== undefined && { runtime: runtimeOf(codeFile) }), ...sourceOf(flags) };
}

function readCode(file: string): string {
  const content = readGivenFile(file);
  if (content.length === 0) throw usageFailure(`${file} is empty.`);
  if (content.length > codeMaxBytes) {
    throw usageFailure(`${file} has ${content.length} bytes; inline code has at most ${codeMaxBytes}.`);
  }
  return content.toString();
}
