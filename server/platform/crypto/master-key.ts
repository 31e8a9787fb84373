import { randomBytes } from 'node:crypto'
import { chmod, link, mkdir, open, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { Keys } from './secret-box.ts'

export type KeySource = { home: string; fromEnvironment?: string }

const KEY_BYTES = 32

/**
 * The keys that seal secrets: GANTRY_SECRET_KEY, else a 0600 file in GANTRY_HOME, created when absent. There is one,
 * except during a rotation: then the new one comes first.
 */
export async function loadMasterKeys(source: KeySource): Promise<Keys> {
  const existing = await findMasterKeys(source)
  if (existing) return existing
  await mkdir(source.home, { recursive: true, mode: 0o700 })
  return createKeyFile(keyFile(source.home))
}

/** The same without creating a file; null when there is no key. */
export async function findMasterKeys({ home, fromEnvironment }: KeySource): Promise<Keys | null> {
  if (fromEnvironment !== undefined) return parseKeys(fromEnvironment, 'GANTRY_SECRET_KEY')
  const path = keyFile(home)
  const existing = await readFile(path, 'utf8').catch(ignoreAbsent)
  return existing === undefined ? null : parseKeys(existing, path)
}

export function keyFile(home: string): string {
  return join(home, 'secret.key')
}

export function newKey(): Buffer {
  return randomBytes(KEY_BYTES)
}

/** 32 bytes as 64 hex characters or as base64; undefined for anything else. */
export function decodeKey(text: string): Buffer | undefined {
  if (/^[0-9a-fA-F]{64}$/.test(text)) return Buffer.from(text, 'hex')
  if (!/^[A-Za-z0-9+/_-]{43}=?$/.test(text)) return undefined
  const bytes = Buffer.from(text, 'base64')
  return bytes.length === KEY_BYTES ? bytes : undefined
}

/** Several keys, separated by commas or line breaks; undefined when one of them is invalid. */
export function decodeKeys(text: string): Keys | undefined {
  const [first, ...others] = text
    .trim()
    .split(/\s*,\s*|\s*\n\s*/)
    .map(decodeKey)
  if (!first || !others.every((key) => key !== undefined)) return undefined
  return [first, ...others]
}

export function encodeKeys(keys: Keys): string {
  return keys.map((key) => `${key.toString('hex')}\n`).join('')
}

/** `source` names the text in the error. */
export function parseKeys(text: string, source: string): Keys {
  const keys = decodeKeys(text)
  if (!keys)
    throw new Error(
      `${source} does not contain a valid key: expected 64 hex characters, or 32 bytes as base64.`,
    )
  return keys
}

/**
 * Atomic, and flushed to disk before it returns: soon there are values that only these keys open. The file keeps its
 * owner. Concurrent calls would overwrite each other: hold a lock.
 */
export async function replaceKeyFile(path: string, keys: Keys): Promise<void> {
  const owner = await stat(path).catch(ignoreAbsent)
  const draft = `${path}.draft`
  await mkdir(dirname(path), { recursive: true, mode: 0o700 })
  await rm(draft, { force: true })
  await using file = await open(draft, 'wx', 0o600)
  await file.writeFile(encodeKeys(keys))
  if (owner) await file.chown(owner.uid, owner.gid)
  await file.sync()
  await rename(draft, path)
  await using folder = await open(dirname(path))
  await folder.sync()
}

/** Written under another name and then linked: of two processes that start together one wins. */
async function createKeyFile(path: string): Promise<Keys> {
  const draft = `${path}.${randomBytes(6).toString('hex')}`
  await writeFile(draft, encodeKeys([newKey()]), { mode: 0o600, flush: true })
  try {
    await link(draft, path)
    await chmod(path, 0o600)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  } finally {
    await rm(draft, { force: true })
  }
  return parseKeys(await readFile(path, 'utf8'), path)
}

function ignoreAbsent(error: NodeJS.ErrnoException): undefined {
  if (error.code !== 'ENOENT') throw error
}
