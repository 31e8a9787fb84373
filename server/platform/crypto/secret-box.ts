import { createCipheriv, createDecipheriv, createHash, randomBytes } from 'node:crypto'

/**
 * Secrets at rest: AES-256-GCM. A sealed value contains the id of its key, so that keys can be rotated, and is bound
 * by its additional authenticated data to one row and column, so that it cannot be moved to another.
 *
 * Layout: version (1) | key id (4) | nonce (12) | tag (16) | ciphertext.
 */
export type SecretBox = {
  /** `aad` names table, row and column: `hooks/<id>/secret`. */
  seal(plain: string, aad: string): Buffer
  /** Throws when the value was not sealed with a known key and the same `aad`. */
  open(sealed: Buffer, aad: string): string
}

/** The first key seals; every key opens what it sealed. */
export type Keys = readonly [Buffer, ...Buffer[]]

/** Keys that change while the process runs (key-ring.ts). */
export type KeyRing = {
  current(): Keys
  /** Called when a value was sealed with a key that is not among the current ones. */
  reread(): Keys
}

const VERSION = 1
const KEY_ID_BYTES = 4
const NONCE_BYTES = 12
const TAG_BYTES = 16
const HEADER_BYTES = 1 + KEY_ID_BYTES + NONCE_BYTES + TAG_BYTES

export function createSecretBox(keys: Keys | KeyRing): SecretBox {
  const ring = 'current' in keys ? keys : { current: () => keys, reread: () => keys }

  return {
    seal(plain, aad) {
      const [key] = ring.current()
      const nonce = randomBytes(NONCE_BYTES)
      const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(Buffer.from(aad))
      const ciphertext = Buffer.concat([cipher.update(plain, 'utf8'), cipher.final()])
      return Buffer.concat([Buffer.of(VERSION), keyId(key), nonce, cipher.getAuthTag(), ciphertext])
    },
    open(sealed, aad) {
      if (sealed.length < HEADER_BYTES || sealed[0] !== VERSION) throw new Error(`Not a sealed value: ${aad}`)
      const parts = split(sealed)
      const key = withId(ring.current(), parts.keyId) ?? withId(ring.reread(), parts.keyId)
      if (!key) throw new Error(`${aad} was sealed with a key that this process does not have`)
      const decipher = createDecipheriv('aes-256-gcm', key, parts.nonce)
        .setAAD(Buffer.from(aad))
        .setAuthTag(parts.tag)
      return decipher.update(parts.ciphertext, undefined, 'utf8') + decipher.final('utf8')
    },
  }
}

/** The id that a sealed value contains. It is not secret. */
export function keyId(key: Buffer): Buffer {
  return createHash('sha256').update('gantry key id').update(key).digest().subarray(0, KEY_ID_BYTES)
}

/** Undefined when it is not a sealed value. */
export function keyIdOf(sealed: Buffer): Buffer | undefined {
  return sealed.length >= HEADER_BYTES && sealed[0] === VERSION ? split(sealed).keyId : undefined
}

function withId(keys: Keys, id: Buffer): Buffer | undefined {
  return keys.find((key) => keyId(key).equals(id))
}

function split(sealed: Buffer) {
  const nonceAt = 1 + KEY_ID_BYTES
  const tagAt = nonceAt + NONCE_BYTES
  return {
    keyId: sealed.subarray(1, nonceAt),
    nonce: sealed.subarray(nonceAt, tagAt),
    tag: sealed.subarray(tagAt, HEADER_BYTES),
    ciphertext: sealed.subarray(HEADER_BYTES),
  }
}
