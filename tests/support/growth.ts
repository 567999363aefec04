/** Milliseconds of this thread's own time: other work on the machine does not count. */
function cpuMilliseconds(work: () => unknown): number {
  const before = process.threadCpuUsage();
  work();
  const { user, system } = process.threadCpuUsage(before);
  return (user + system) / 1_000;
}

/** The shortest of several runs: what the work itself takes, without the collector and the compiler, which take less than 100 ms. */
function shortest(work: () => unknown): number {
  let best = cpuMilliseconds(work);
  for (let run = 0; run < 4 && best < 100; run++) best = Math.min(best, cpuMilliseconds(work));
  return best;
}

/** Below this, work that is not linear cannot be distinguished from noise; quadratic work takes far longer at the sizes used here. */
const negligibleMs = 5;

/**
 * Whether the time of `work` grows clearly faster than its input: by far more than eight times for an input eight times as
 * long. Judges by the thread's own time and by ratio, so that a busy machine changes nothing.
 * @param size characters of the smaller input; quadratic work must take far more than 5 ms for eight times as many
 */
export function isSuperLinear(
  input: (size: number) => string,
  work: (input: string) => unknown,
  { size = 8_192 }: { size?: number } = {},
): boolean {
  const [small, large] = [input(size), input(8 * size)];
  const growsFaster = () => {
    const largeMs = shortest(() => work(large));
    return largeMs > negligibleMs && largeMs > 20 * shortest(() => work(small));
  };
  // The processor may be slower for the moment that one of the two takes, which seldom happens three times.
  return growsFaster() && growsFaster() && growsFaster();
}
