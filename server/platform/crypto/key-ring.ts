import { readFileSync, statSync } from 'node:fs'
import { decodeKeys, type KeySource, keyFile, loadMasterKeys } from './master-key.ts'
import type { KeyRing, Keys } from './secret-box.ts'

/**
 * The keys of a running process. Keys from the key file follow the file, because a rotation replaces it while
 * processes run: once it is replaced, its first key seals. So the file is checked each time; that costs a few
 * microseconds, and secrets are rare. A key that was removed from the file still opens: a row may have been read
 * before the removal. Keys from the environment never change.
 */
export async function openKeyRing(source: KeySource): Promise<KeyRing> {
  let keys = await loadMasterKeys(source)
  if (source.fromEnvironment !== undefined) return { current: () => keys, reread: () => keys }

  const path = keyFile(source.home)
  let seen = ''

  function reread(): Keys {
    // A file that is temporarily missing or damaged removes no keys from a running process.
    seen = stateOf(path)
    const [first, ...others] = readKeys(path) ?? keys
    keys = [first, ...deduplicate([...others, ...keys], first)]
    return keys
  }

  return { current: () => (stateOf(path) === seen ? keys : reread()), reread }
}

/** Changes whenever the file was replaced or written. */
function stateOf(path: string): string {
  const state = statSync(path, { bigint: true, throwIfNoEntry: false })
  return state ? `${state.ino} ${state.mtimeNs} ${state.size}` : ''
}

function deduplicate(keys: Buffer[], first: Buffer): Buffer[] {
  return keys.filter(
    (key, index) => !key.equals(first) && keys.findIndex((other) => other.equals(key)) === index,
  )
}

function readKeys(path: string): Keys | undefined {
  try {
    return decodeKeys(readFileSync(path, 'utf8'))
  } catch {
    return undefined
  }
}
