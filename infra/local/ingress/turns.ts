/**
 * Runs work in the order in which it comes, at most this much in one turn of the event loop: at once while that is not
 * reached, else in one of the next turns. In between, everything else that is ready has its turn.
 */
export function createTurns(perTurn: number): (work: () => void) => void {
  const waiting: (() => void)[] = [];
  let left = perTurn;
  let turn: NodeJS.Immediate | undefined;

  const begin = () => {
    turn = undefined;
    left = perTurn;
    for (const work of waiting.splice(0, perTurn)) run(work);
  };
  const run = (work: () => void) => {
    left -= 1;
    turn ??= setImmediate(begin);
    work();
  };
  return (work) => {
    if (left > 0) run(work);
    else waiting.push(work);
  };
}
