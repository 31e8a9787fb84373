// Host keys as people and files know them: `ssh-ed25519 AAAA…`, or the fingerprint of one, `SHA256:…`.

import { createHash } from 'node:crypto'

export type HostKey = { type: string; blob: Buffer }

/** What a host must present. A fingerprint alone does not show the type of its key. */
export type KnownHost = { type: string | null; fingerprint: string }

// The signature algorithms of each key type. SHA-1 and DSA are not supported.
const SIGNATURES: Record<string, string[]> = {
  'ssh-ed25519': ['ssh-ed25519'],
  'ecdsa-sha2-nistp256': ['ecdsa-sha2-nistp256'],
  'ecdsa-sha2-nistp384': ['ecdsa-sha2-nistp384'],
  'ecdsa-sha2-nistp521': ['ecdsa-sha2-nistp521'],
  'ssh-rsa': ['rsa-sha2-512', 'rsa-sha2-256'],
}

/** Null when the text is not a public host key of a supported type. A comment is allowed. */
export function parseHostKey(text: string): HostKey | null {
  const [type = '', encoded = ''] = text.trim().split(/\s+/)
  if (!Object.hasOwn(SIGNATURES, type) || !/^[A-Za-z0-9+/]+={0,2}$/.test(encoded)) return null
  const blob = Buffer.from(encoded, 'base64')
  return typeOf(blob) === type ? { type, blob } : null
}

/** Null when the text is neither a key nor a fingerprint. */
export function readKnownHost(text: string): KnownHost | null {
  if (/^SHA256:[A-Za-z0-9+/]{43}$/.test(text)) return { type: null, fingerprint: text }
  const key = parseHostKey(text)
  return key && { type: key.type, fingerprint: fingerprint(key.blob) }
}

/** The text form of a key as the host sends it. */
export function formatHostKey(blob: Buffer): string {
  return `${typeOf(blob)} ${blob.toString('base64')}`
}

/** As `ssh-keygen -l` prints it. */
export function fingerprint(blob: Buffer): string {
  return `SHA256:${createHash('sha256').update(blob).digest('base64').replace(/=+$/, '')}`
}

/** In order of preference. A server has keys of several types; it must present the known one. */
export function hostKeyAlgorithms(known: Pick<KnownHost, 'type'> | null): string[] {
  const all = Object.values(SIGNATURES).flat()
  return known?.type ? [...new Set([...SIGNATURES[known.type]!, ...all])] : all
}

/** A key begins with its type, prefixed by the length. */
function typeOf(blob: Buffer): string {
  return blob.length < 4 ? '' : blob.subarray(4, 4 + Math.min(blob.readUInt32BE(0), 64)).toString('latin1')
}
