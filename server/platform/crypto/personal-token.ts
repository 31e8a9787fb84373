import { randomInt } from 'node:crypto'
import { crc32 } from 'node:zlib'

// Personal access tokens end up in scripts and, by mistake, in repositories. They carry a checksum, so that a scanner
// can tell a token from text that only looks like one without asking anyone.

const PREFIX = 'gty_pat_'
const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const RANDOM_LENGTH = 40
const CHECKSUM_LENGTH = 6

const FORMAT = /^gty_pat_([0-9A-Za-z]{40})([0-9A-Za-z]{6})$/
/** Tokens without a checksum, which earlier versions created. */
const OLD_FORMAT = /^gty_pat_[\w-]{43}$/

/** `gty_pat_`, 40 random characters (238 bits) and their CRC-32 in base 62. */
export function newPersonalToken(): string {
  const random = Array.from({ length: RANDOM_LENGTH }, () => ALPHABET[randomInt(ALPHABET.length)]).join('')
  return PREFIX + random + checksumOf(random)
}

/** False for what cannot be a token of this service: it claims to be a personal one, but its checksum is wrong. */
export function mayBeToken(token: string): boolean {
  if (!token.startsWith(PREFIX)) return true
  const [, random, checksum] = FORMAT.exec(token) ?? []
  return random === undefined ? OLD_FORMAT.test(token) : checksumOf(random) === checksum
}

function checksumOf(text: string): string {
  let rest = crc32(text)
  let digits = ''
  for (let place = 0; place < CHECKSUM_LENGTH; place++) {
    digits = ALPHABET[rest % ALPHABET.length] + digits
    rest = Math.floor(rest / ALPHABET.length)
  }
  return digits
}
