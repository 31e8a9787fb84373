import { randomBytes } from 'node:crypto'
import { chmod, link, mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

const KEY_BYTES = 32

/** The key that seals secrets: GANTRY_SECRET_KEY, else a 0600 file under GANTRY_HOME, made when absent. */
export async function loadMasterKey(options: { home: string; fromEnvironment?: string }): Promise<Buffer> {
  if (options.fromEnvironment !== undefined) return parseKey(options.fromEnvironment, 'GANTRY_SECRET_KEY')
  const path = join(options.home, 'secret.key')
  const existing = await readOrNothing(path)
  if (existing !== undefined) return parseKey(existing.trim(), path)
  await mkdir(options.home, { recursive: true, mode: 0o700 })
  return createKeyFile(path)
}

/** 32 bytes as 64 hex characters or as base64; undefined when it is neither. */
export function decodeKey(text: string): Buffer | undefined {
  if (/^[0-9a-fA-F]{64}$/.test(text)) return Buffer.from(text, 'hex')
  if (!/^[A-Za-z0-9+/_-]{43}=?$/.test(text)) return undefined
  const bytes = Buffer.from(text, 'base64')
  return bytes.length === KEY_BYTES ? bytes : undefined
}

function parseKey(text: string, source: string): Buffer {
  const key = decodeKey(text)
  if (!key)
    throw new Error(`${source} does not hold a key: expected 64 hex characters, or 32 bytes as base64.`)
  return key
}

/** Written whole under another name and then linked: of two processes that start together one wins. */
async function createKeyFile(path: string): Promise<Buffer> {
  const draft = `${path}.${randomBytes(6).toString('hex')}`
  await writeFile(draft, `${randomBytes(KEY_BYTES).toString('hex')}\n`, { mode: 0o600, flush: true })
  try {
    await link(draft, path)
    await chmod(path, 0o600)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  } finally {
    await rm(draft, { force: true })
  }
  return parseKey((await readFile(path, 'utf8')).trim(), path)
}

async function readOrNothing(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}
