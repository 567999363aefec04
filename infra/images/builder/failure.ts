/** Why there will be no image; whoever reads the message can do something about it. */
export class BuildFailure extends Error {
  override readonly name = 'BuildFailure';
}
