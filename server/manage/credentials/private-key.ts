import { createHash } from 'node:crypto'
import ssh2 from 'ssh2'

/** A private key as it is kept, and the half that may be shown. */
export type KeyPair = { privateKey: string; publicKey: string; fingerprint: string }

export type ReadKey = { kind: 'key'; pair: KeyPair } | { kind: 'refused'; message: string }

/** Both OpenSSH and our own SSH client must be able to use it, without anybody there to type a passphrase. */
export function readPrivateKey(text: string): ReadKey {
  const plain = `${text.replaceAll('\r\n', '\n').trim()}\n`
  if (plain.startsWith('PuTTY-User-Key-File')) {
    return refused('is in the format of PuTTY: convert it with puttygen (-O private-openssh)')
  }
  const parsed = ssh2.utils.parseKey(plain)
  const key = Array.isArray(parsed) ? parsed[0] : parsed
  if (key instanceof Error) return refused(whyNot(key.message))
  if (!key?.isPrivateKey()) return refused('is a public key: give the private one')
  if (key.type === 'ssh-dss') return refused('is of the type DSA, which servers no longer accept')
  return { kind: 'key', pair: pairOf(plain, key) }
}

const MOST_TRIES = 20

/** Of the keys that ssh2 makes one in 256 cannot be read again, not even by ssh2: such a one is thrown away. */
export function generateKey(comment: string): KeyPair {
  for (let tries = 1; ; tries += 1) {
    const made = ssh2.utils.generateKeyPairSync('ed25519', { comment })
    const key = ssh2.utils.parseKey(made.private)
    if (!(key instanceof Error)) return pairOf(made.private, key)
    if (tries === MOST_TRIES) throw key
  }
}

function pairOf(privateKey: string, key: ssh2.ParsedKey): KeyPair {
  const blob = key.getPublicSSH()
  const publicKey = [key.type, blob.toString('base64')].join(' ')
  const hash = createHash('sha256').update(blob).digest('base64').replace(/=+$/, '')
  return { privateKey, publicKey, fingerprint: `SHA256:${hash}` }
}

/** `problem`: what the parser says; it never quotes the key. */
function whyNot(problem: string): string {
  return /passphrase/i.test(problem)
    ? 'is encrypted with a passphrase: give it without one (ssh-keygen -p -N "" removes it); it is stored encrypted here'
    : 'cannot be read: it must be a private key in OpenSSH or PEM format'
}

function refused(message: string): ReadKey {
  return { kind: 'refused', message }
}
