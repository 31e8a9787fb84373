import { argon2, randomBytes, randomInt, timingSafeEqual } from 'node:crypto'
import { promisify } from 'node:util'

const argon2Async = promisify(argon2)

type Cost = { memory: number; passes: number; parallelism: number }

/** OWASP's second recommendation for argon2id: 19 MiB, two passes. */
const COST: Cost = { memory: 19_456, passes: 2, parallelism: 1 }
const SALT_BYTES = 16
const HASH_BYTES = 32

/** argon2id in the standard `$argon2id$v=19$m=…,t=…,p=…$salt$hash` format, so that costs can be raised later. */
export async function hashPassword(password: string): Promise<string> {
  const salt = randomBytes(SALT_BYTES)
  const hash = await derive(password, salt, COST)
  const cost = `m=${COST.memory},t=${COST.passes},p=${COST.parallelism}`
  return `$argon2id$v=19$${cost}$${encode(salt)}$${encode(hash)}`
}

/**
 * Verifies a password. Without a stored hash (unknown email, account without password) it does the same work and
 * returns false, so that timing reveals nothing.
 */
export async function verifyPassword(password: string, stored: string | null): Promise<boolean> {
  const parts = stored === null ? null : parse(stored)
  const { cost, salt, hash } = parts ?? {
    cost: COST,
    salt: Buffer.alloc(SALT_BYTES),
    hash: Buffer.alloc(HASH_BYTES),
  }
  const derived = await derive(password, salt, cost, hash.length)
  return timingSafeEqual(derived, hash) && parts !== null
}

/** A password to copy from a terminal: 20 characters without look-alikes, at least 110 bits. */
export function generatePassword(): string {
  const alphabet = 'abcdefghijkmnpqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789'
  return Array.from({ length: 20 }, () => alphabet[randomInt(alphabet.length)]).join('')
}

function derive(password: string, nonce: Buffer, cost: Cost, tagLength = HASH_BYTES): Promise<Buffer> {
  return argon2Async('argon2id', {
    message: Buffer.from(password.normalize('NFC')),
    nonce,
    tagLength,
    ...cost,
  })
}

function parse(stored: string): { cost: Cost; salt: Buffer; hash: Buffer } | null {
  const match = /^\$argon2id\$v=19\$m=(\d+),t=(\d+),p=(\d+)\$([A-Za-z0-9+/]+)\$([A-Za-z0-9+/]+)$/.exec(stored)
  if (!match) return null
  const [, memory, passes, parallelism, salt, hash] = match
  return {
    cost: { memory: Number(memory), passes: Number(passes), parallelism: Number(parallelism) },
    salt: Buffer.from(salt!, 'base64'),
    hash: Buffer.from(hash!, 'base64'),
  }
}

function encode(bytes: Buffer): string {
  return bytes.toString('base64').replaceAll('=', '')
}
