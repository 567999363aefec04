import type { Listener } from './run.ts';
import { createTellingLine, shortened } from './telling-line.ts';

const instructionMax = 120;
/** `STEP 2/3: RUN npm ci`; of several stages `[1/2] STEP 2/3: RUN npm ci`. */
const stepLine = /^(?:\[\d+\/\d+\] )?STEP (\d+\/\d+): (.*)$/;
const errorLine = /^Error: (.*)$/;
const atStep = /^building at STEP ".*?": /;
/** buildah shows how it holds an instruction that it does not know. */
const innards = / &imagebuilder\.Step\{.*$/;
/** How the program of a step ended, in the error about that step. */
const exitStatus = /exit status (\d+)$/;

/** Reads the output of buildah, in which a step's own words come before buildah's about it. */
export function createBuildahOutput(): Listener {
  let step: { number: string; instruction: string } | undefined;
  let words = createTellingLine();
  let error: string | undefined;
  return {
    line(text) {
      const [, number, instruction] = stepLine.exec(text) ?? [];
      const [, fault] = errorLine.exec(text) ?? [];
      if (number !== undefined && instruction !== undefined) {
        step = { number, instruction };
        words = createTellingLine();
      } else if (fault === undefined) words.line(text);
      else error = fault;
    },
    failure() {
      if (error === undefined) return undefined;
      if (!step) return shortened(error);
      const what = `step ${step.number} (${shortened(step.instruction, instructionMax)})`;
      const [, status] = exitStatus.exec(error) ?? [];
      if (status === undefined) return shortened(`${what}: ${error.replace(atStep, '').replace(innards, '')}`);
      const said = words.said();
      return shortened(`${what} ended with ${status}${said === undefined ? '' : `: ${said}`}`);
    },
  };
}
