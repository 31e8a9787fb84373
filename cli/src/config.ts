// The instances that somebody uses, with their tokens: one file in the config folder of the user, readable by nobody else.
import { randomUUID } from 'node:crypto'
import { chmod, mkdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { usage } from './failure.ts'

/** One instance and how to sign in to it. */
export type Context = {
  url: string
  token: string
  /** The email address of the account that the token belongs to. */
  user: string
  expires_at: string | null
}

export type Config = { current: string | null; contexts: Record<string, Context> }

export function configFolder(env: NodeJS.ProcessEnv, platform = process.platform): string {
  if (env.GANTRY_CONFIG_DIR) return env.GANTRY_CONFIG_DIR
  if (platform === 'win32' && env.APPDATA) return join(env.APPDATA, 'gantry')
  return join(env.XDG_CONFIG_HOME || join(homeFolder(), '.config'), 'gantry')
}

/** An account without a home, as containers have, signs in by its environment. */
function homeFolder(): string {
  try {
    return homedir()
  } catch {
    return '/'
  }
}

const fileIn = (folder: string) => join(folder, 'config.json')

export async function readConfig(folder: string): Promise<Config> {
  const file = fileIn(folder)
  const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return null
    throw usage(`Failed to read ${file}: ${error.code}.`, 'Check the permissions of the file.')
  })
  if (text === null) return { current: null, contexts: ownNames({}) }
  const config = parse(text)
  if (!config) throw usage(`${file} is damaged.`, 'Remove it, and sign in again with `gantry login`.')
  const { mode } = await stat(file)
  if ((mode & 0o077) !== 0 && process.platform !== 'win32') await chmod(file, 0o600).catch(() => {})
  return config
}

/** The file is replaced as a whole: a crash leaves the old one or the new one. */
export async function writeConfig(folder: string, config: Config): Promise<void> {
  const file = fileIn(folder)
  const draft = `${file}.${randomUUID()}`
  try {
    await mkdir(folder, { recursive: true, mode: 0o700 })
    await writeFile(draft, `${JSON.stringify(config, null, 2)}\n`, { mode: 0o600 })
    await rename(draft, file)
  } catch (error) {
    await rm(draft, { force: true })
    throw usage(
      `Failed to write ${file}: ${(error as NodeJS.ErrnoException).code}.`,
      'Set GANTRY_CONFIG_DIR to a writable folder.',
    )
  }
}

function parse(text: string): Config | null {
  try {
    const { current, contexts } = JSON.parse(text)
    const isWhole = Object.values(contexts as Config['contexts']).every(
      ({ url, token, user }) => URL.canParse(url) && typeof token === 'string' && typeof user === 'string',
    )
    if (!isWhole) return null
    return { current: typeof current === 'string' ? current : null, contexts: ownNames(contexts) }
  } catch {
    return null
  }
}

/** Without a prototype, so that `constructor` is not a context. */
const ownNames = (contexts: Config['contexts']): Config['contexts'] =>
  Object.assign(Object.create(null), contexts)
