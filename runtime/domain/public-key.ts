// A public key has the form of known_hosts and authorized_keys: `<type> <base64>`.

/** The grammar of one public key, of at most {@link publicKeyMax} characters: a type that OpenSSH takes by default, and its base64. */
export const publicKeyPattern =
  '^(?:ssh-ed25519|ssh-rsa|ecdsa-sha2-nistp(?:256|384|521)|sk-(?:ssh-ed25519|ecdsa-sha2-nistp256)@openssh\\.com) [A-Za-z0-9+/]{40,}={0,2}$';

/** Maximum length of a public key, in characters. */
export const publicKeyMax = 4_100;

/** Maximum number of host keys: far more than a server has, which is one of each type. */
export const hostKeysMax = 20;

const publicKeyShape = new RegExp(publicKeyPattern);

/** Whether a text has the form of a public key. Pure. */
export function isPublicKey(text: string): boolean {
  return text.length <= publicKeyMax && publicKeyShape.test(text);
}
