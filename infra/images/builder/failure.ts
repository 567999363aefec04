/** The reason why a build failed, in words for the app's owner. */
export class BuildFailure extends Error {
  override readonly name = 'BuildFailure';
}
