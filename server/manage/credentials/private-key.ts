import { createHash } from 'node:crypto'
import ssh2 from 'ssh2'

/** A private key as it is stored, and its public half. */
export type KeyPair = { privateKey: string; publicKey: string; fingerprint: string }

export type ReadKey = { kind: 'key'; pair: KeyPair } | { kind: 'refused'; message: string }

/** Both OpenSSH and our SSH client must be able to use the key, without a passphrase. */
export function readPrivateKey(text: string): ReadKey {
  const plain = `${text.replaceAll('\r\n', '\n').trim()}\n`
  if (plain.startsWith('PuTTY-User-Key-File')) {
    return refused('is in PuTTY format: convert it with puttygen (-O private-openssh)')
  }
  const parsed = ssh2.utils.parseKey(plain)
  const key = Array.isArray(parsed) ? parsed[0] : parsed
  if (key instanceof Error) return refused(explain(key.message))
  if (!key?.isPrivateKey()) return refused('is a public key: send the private key')
  if (key.type === 'ssh-dss') return refused('is a DSA key, which servers no longer accept')
  return { kind: 'key', pair: pairOf(plain, key) }
}

const MAX_ATTEMPTS = 20
const COMMENT = 'gantry'

/** One in 256 keys that ssh2 generates cannot be parsed again, not even by ssh2: such a key is discarded. */
export function generateKey(): KeyPair {
  for (let attempt = 1; ; attempt += 1) {
    const generated = ssh2.utils.generateKeyPairSync('ed25519', { comment: COMMENT })
    const key = ssh2.utils.parseKey(generated.private)
    if (!(key instanceof Error)) return pairOf(generated.private, key)
    if (attempt === MAX_ATTEMPTS) throw key
  }
}

/** Whether `generateKey` wrote it: with our comment, in lines of 64 characters, where OpenSSH writes 70. */
export function isGeneratedKey(privateKey: string): boolean {
  const parsed = ssh2.utils.parseKey(privateKey)
  const key = Array.isArray(parsed) ? parsed[0] : parsed
  if (!key || key instanceof Error || key.type !== 'ssh-ed25519' || key.comment !== COMMENT) return false
  return privateKey.split('\n')[1]?.length === 64
}

function pairOf(privateKey: string, key: ssh2.ParsedKey): KeyPair {
  const blob = key.getPublicSSH()
  const publicKey = [key.type, blob.toString('base64')].join(' ')
  const hash = createHash('sha256').update(blob).digest('base64').replace(/=+$/, '')
  return { privateKey, publicKey, fingerprint: `SHA256:${hash}` }
}

/** `problem`: what the parser says; it never quotes the key. */
function explain(problem: string): string {
  return /passphrase/i.test(problem)
    ? 'is encrypted with a passphrase: remove it (ssh-keygen -p -N ""); Gantry stores the key encrypted'
    : 'cannot be read: it must be a private key in OpenSSH or PEM format'
}

function refused(message: string): ReadKey {
  return { kind: 'refused', message }
}
