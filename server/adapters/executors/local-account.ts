// The account of local commands. When Gantry runs as root it must not be root, nor the account of the embedded
// database, whose files hold everything.

import { constants, type Stats } from 'node:fs'
import { lstat, mkdir, open, readFile, readlink } from 'node:fs/promises'
import { userInfo } from 'node:os'
import { dirname } from 'node:path'
import { type Impossible, impossible } from './executor.ts'

export type LocalAccount = { name: string; uid: number; gid: number; home: string }

/** The first that exists. */
const CANDIDATES = ['gantry', 'www-data', 'daemon', 'nobody']

/** The account of commands that specify none. `excludedUid`: of the embedded database. */
export async function chooseLocalAccount(excludedUid: number | null): Promise<LocalAccount | Impossible> {
  if (process.getuid!() !== 0) return ownAccount()
  const accounts = await readAccounts()
  for (const name of CANDIDATES) {
    const account = accounts.find((one) => one.name === name)
    if (account && account.uid !== 0 && account.uid !== excludedUid) return account
  }
  return impossible(
    'no account on this machine can run commands: create one named "gantry" (useradd -r gantry)',
  )
}

/** The account that a command specifies. Only root can switch accounts. */
export async function findLocalAccount(name: string): Promise<LocalAccount | Impossible> {
  if (process.getuid!() !== 0) {
    const own = ownAccount()
    if (name === own.name) return own
    return impossible(
      `commands cannot run as ${shown(name)}: Gantry runs as ${own.name}, and only root can switch accounts`,
    )
  }
  const account = (await readAccounts()).find((one) => one.name === name)
  return account ?? impossible(`the account ${shown(name)} does not exist on this machine`)
}

/**
 * Creates a folder that belongs to the account; missing parents stay ours. Returns false if something exists there, and
 * leaves it unchanged: a link must not make us give away its target. Root also follows no links of other accounts on the
 * way, because they would choose where the folder is created.
 */
export async function makeFolderOf(account: LocalAccount, path: string, mode = 0o755): Promise<boolean> {
  const isRoot = process.getuid!() === 0
  const links = isRoot ? await linksTo(path) : []
  if (links.some(({ uid }) => uid !== 0)) return false
  if ((await mkdir(path, { recursive: true })) === undefined) return false
  await using folder = await open(path, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW)
  // A folder on the way may have become a link meanwhile.
  const at = await readlink(`/proc/self/fd/${folder.fd}`).catch(() => path)
  if (isRoot && links.length === 0 && at !== path) return false
  await folder.chmod(mode)
  if (isRoot) await folder.chown(account.uid, account.gid)
  return true
}

/** The links among the folders of a path. */
async function linksTo(path: string): Promise<Stats[]> {
  const parent = dirname(path)
  const above = parent === path ? [] : await linksTo(parent)
  const found = await lstat(path).catch(() => undefined)
  return found?.isSymbolicLink() ? [...above, found] : above
}

/** The valid lines of /etc/passwd. */
export function parsePasswd(text: string): LocalAccount[] {
  return text.split('\n').flatMap((line) => {
    const [name, , uid, gid, , home] = line.split(':')
    if (!name || !/^\d+$/.test(uid ?? '') || !/^\d+$/.test(gid ?? '')) return []
    return [{ name, uid: Number(uid), gid: Number(gid), home: home || '/' }]
  })
}

async function readAccounts(): Promise<LocalAccount[]> {
  return parsePasswd(await readFile('/etc/passwd', 'utf8'))
}

function ownAccount(): LocalAccount {
  const [uid, gid] = [process.getuid!(), process.getgid!()]
  try {
    const { username, homedir } = userInfo()
    return { name: username, uid, gid, home: homedir }
  } catch {
    // A container may run us under a uid without a name.
    return { name: String(uid), uid, gid, home: '/' }
  }
}

function shown(name: string): string {
  return JSON.stringify(name.slice(0, 80))
}
