import { installTestPrograms } from '../support/test-programs.ts';

// The platform under test has stores of its own, so end-to-end tests need no test servers.
await installTestPrograms();
