import type { Listener } from './run.ts';
import { createErrorLineFinder, shortened } from './error-line.ts';

const instructionMax = 120;
/** `STEP 2/3: RUN npm ci`; of several stages `[1/2] STEP 2/3: RUN npm ci`. */
const stepLine = /^(?:\[\d+\/\d+\] )?STEP (\d+\/\d+): (.*)$/;
const errorLine = /^Error: (.*)$/;
const atStep = /^building at STEP ".*?": /;
/** buildah appends its internal form of an unknown instruction. */
const internals = / &imagebuilder\.Step\{.*$/s;
/** The exit code of a step's program, in the error about that step. */
const exitStatus = /exit status (\d+)$/;

/** Finds the reason for a failure in buildah's output, where a step's own output precedes buildah's error. */
export function createBuildahOutput(): Listener {
  let step: { number: string; instruction: string } | undefined;
  let finder = createErrorLineFinder();
  let error: string | undefined;
  return {
    line(text) {
      const [, number, instruction] = stepLine.exec(text) ?? [];
      const [, fault] = errorLine.exec(text) ?? [];
      if (number !== undefined && instruction !== undefined) {
        step = { number, instruction };
        finder = createErrorLineFinder();
      } else if (fault === undefined) finder.line(text);
      else error = fault;
    },
    failure() {
      if (error === undefined) return undefined;
      if (!step) return shortened(error);
      const what = `step ${step.number} (${shortened(step.instruction, instructionMax)})`;
      const [, status] = exitStatus.exec(error) ?? [];
      if (status === undefined) return shortened(`${what}: ${error.replace(atStep, '').replace(internals, '')}`);
      const errorLine = finder.errorLine();
      return shortened(`${what} failed with exit code ${status}${errorLine === undefined ? '' : `: ${errorLine}`}`);
    },
  };
}
