import { codeMaxBytes, functionRuntimes } from '../../runtime/contracts/resources/function.ts';
import type { Context } from '../context.ts';
import { usageFailure } from '../failure.ts';
import { choice, flagName, imageReference, negated, text, texts, type FlagValues } from '../flags.ts';
import { readInput, runtimeOf } from '../input-file.ts';
import { checkExclusive } from '../pod-settings.ts';

/** The code or image of a function. */
export const sourceFlags = {
  codeFile: text('<file>', 'source file with the handler; - for standard input'),
  runtime: choice(functionRuntimes, 'runtime of the code (default python for *.py, otherwise node)'),
  dependency: texts('<name@version>', 'package to install for the code; replaces all packages'),
  image: imageReference('container image to run instead of code; it listens on --port'),
};

/** For `update`: removes settings. */
export const sourceRemovalFlags = { dependencies: negated('remove all packages') };

/** The fields of a request body for the flags. @throws Failure (usage) for an image with flags for code */
export async function sourceBody(
  context: Context,
  flags: FlagValues<typeof sourceFlags> & Partial<FlagValues<typeof sourceRemovalFlags>>,
) {
  const { codeFile, runtime, dependency, image, dependencies } = flags;
  checkExclusive('dependency', dependency.length > 0, dependencies === false);
  if (image !== undefined) {
    const [stray] = Object.entries({ codeFile, runtime, dependency: dependency[0] }).find(([, value]) => value) ?? [];
    if (stray !== undefined) throw usageFailure(`${flagName(stray)} cannot be combined with --image.`);
    return { image };
  }
  return {
    ...(runtime !== undefined && { runtime }),
    ...(codeFile !== undefined && { code: await readCode(context, codeFile) }),
    ...(dependency.length > 0 && { dependencies: dependency }),
    ...(dependencies === false && { dependencies: [] }),
  };
}

/** {@link sourceBody} for a new function. @throws Failure (usage) also without code and image */
export async function newSourceBody(context: Context, flags: FlagValues<typeof sourceFlags>) {
  const { codeFile, image } = flags;
  if (codeFile === undefined && image === undefined) {
    throw usageFailure('Use --code-file <file> for code, or --image <image> for a container image.');
  }
  return { ...(codeFile !== undefined && { runtime: runtimeOf(codeFile) }), ...(await sourceBody(context, flags)) };
}

async function readCode(context: Context, file: string): Promise<string> {
  const content = await readInput(context, file);
  const name = file === '-' ? 'Standard input' : file;
  if (content.length === 0) throw usageFailure(`${name} is empty.`);
  if (content.length > codeMaxBytes) {
    throw usageFailure(`${name} is too large: ${content.length} bytes; the limit is ${codeMaxBytes} bytes.`);
  }
  return content.toString();
}
