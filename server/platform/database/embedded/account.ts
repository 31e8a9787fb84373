// PostgreSQL refuses to run as root, so Gantry as root runs the server under an unprivileged account.

import { readFile } from 'node:fs/promises'
import { userInfo } from 'node:os'

export type Account = {
  /** The account that the server runs as and that owns the data folder. */
  uid: number
  gid: number
  /** Spawn options: empty when it is the account of this process. */
  identity: { uid?: number; gid?: number }
  /** The name of the account that Gantry itself runs as: the only one that the server accepts. */
  gantry: string
}

type Owned = { folder: string; uid: number; gid: number }

/** The owner of an existing data folder is used, even if a better account was added to this machine since. */
export async function chooseAccount(data: Owned | undefined): Promise<Account> {
  const gantry = ownName()
  const [ownUid, ownGid] = [process.getuid!(), process.getgid!()]
  if (ownUid !== 0) return { uid: ownUid, gid: ownGid, identity: {}, gantry }
  if (process.platform !== 'linux') {
    throw new Error(
      'the embedded PostgreSQL cannot run as root on this system: start Gantry as a regular user',
    )
  }
  const chosen = data ?? (await unprivilegedAccount())
  if (chosen.uid === 0) {
    throw new Error(
      `${data?.folder} belongs to root, but PostgreSQL refuses to run as root: change its owner with chown -R nobody`,
    )
  }
  const { uid, gid } = chosen
  return { uid, gid, identity: { uid, gid }, gantry }
}

function ownName(): string {
  try {
    return userInfo().username
  } catch (cause) {
    throw new Error(
      `uid ${process.getuid?.()} has no name in /etc/passwd, and PostgreSQL requires one: add the account, or set DATABASE_URL to your own server`,
      { cause },
    )
  }
}

async function unprivilegedAccount(): Promise<{ uid: number; gid: number }> {
  const accounts = (await readFile('/etc/passwd', 'utf8')).split('\n').map((line) => line.split(':'))
  for (const name of ['postgres', 'nobody']) {
    const account = accounts.find((fields) => fields[0] === name)
    if (account) return { uid: Number(account[2]), gid: Number(account[3]) }
  }
  throw new Error(
    'PostgreSQL refuses to run as root, and neither the account "postgres" nor "nobody" exists: add one, or start Gantry as a regular user',
  )
}
